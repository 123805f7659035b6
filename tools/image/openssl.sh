#!/usr/bin/env bash
# The image's own OpenSSL, trimmed and small: built once, kept in the cache by all that goes into it.
# Usage: openssl.sh amd64|arm64   prints the directory with include/ and lib/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common setup; do . "tools/dev/$part.sh"; done
readonly version=3.5.7 sha256=a8c0d28a529ca480f9f36cf5792e2cd21984552a3c8e4aa11a24aa31aeac98e8
# C code needs no unwind tables: no exception passes through it.
readonly flags='-Os -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables'
case ${1:-} in
  amd64) target=linux-x86_64 compiler=gcc-14 tools= ;;
  arm64) target=linux-aarch64 compiler=aarch64-linux-gnu-gcc-14 tools=aarch64-linux-gnu- ;;
  *) die "openssl.sh: amd64 or arm64, not '${1:-}'" ;;
esac
mapfile -t options < <(grep -v '^#' tools/image/openssl_options | tr -s ' ' '\n')
key=$(printf '%s\n' "$version $sha256 $target $flags no AVX-512 ${options[*]}" "$("$compiler" --version | head -n 1)" | sha256sum | cut -c 1-16)
readonly kept=$cache/openssl-$version-${1}-$key
if [ -e "$kept/lib/libssl.a" ]; then
  printf '%s\n' "$kept"
  exit
fi

# The upstream release, or Debian's copy of it: the same bytes, checked before anything is unpacked.
fetch_source() {
  local archive=$cache/openssl-$version.tar.gz from mirror
  mirror=$(apt_mirror)
  for from in "${COTRAIN_MIRROR:-https://github.com}/openssl/openssl/releases/download/openssl-$version/openssl-$version.tar.gz" \
    "${mirror:-https://deb.debian.org/debian}/pool/main/o/openssl/openssl_$version.orig.tar.gz"; do
    [ -e "$archive" ] && break
    curl -fsSL --connect-timeout 20 -o "$archive.part" "$from" 2>/dev/null && mv "$archive.part" "$archive"
  done
  [ -e "$archive" ] || die "image: OpenSSL $version cannot be fetched; put its release archive at $archive"
  printf '%s  %s\n' $sha256 "$archive" | sha256sum --check --quiet - >&2 ||
    die "image: $archive is not the release of OpenSSL $version; delete it"
  tar -xzf "$archive" -C "$work"
}

mkdir -p "$cache"
work=$(mktemp -d "$cache/openssl-work.XXXXXX")
trap 'rm -rf "$work"' EXIT
say "OpenSSL $version for $1, trimmed: once, about two minutes"
fetch_source
cd "$work/openssl-$version"
# The date of the release, so that the same options give the same bytes.
export SOURCE_DATE_EPOCH=1767225600 CCACHE_DISABLE=1
quietly "$work/log" ./Configure "$target" --prefix=/usr --openssldir=/etc/ssl --libdir=lib "${options[@]}" \
  "CC=$compiler" "AR=${tools}ar" "RANLIB=${tools}ranlib" "CFLAGS=$flags"
quietly "$work/log" make -j "$jobs" build_generated
# What is made for AVX-512 is 0.7 MiB that a control plane never feels; for an assembler that is too old to know
# AVX-512 the generators leave it out.
if [ "$1" = amd64 ]; then
  quietly "$work/log" make 'CC=echo GNU assembler version 2.20' crypto/modes/aes-gcm-avx512.s \
    crypto/bn/rsaz-{2k,3k,4k}-avx{512,ifma}.s
fi
quietly "$work/log" make -j "$jobs" libcrypto.a libssl.a
mkdir -p "$work/kept/lib" "$work/kept/include"
cp libcrypto.a libssl.a "$work/kept/lib/"
cp -r include/openssl "$work/kept/include/"
rm -f "$work"/kept/include/openssl/*.in
mv -T "$work/kept" "$kept" 2>/dev/null || [ -e "$kept/lib/libssl.a" ] || die "image: cannot write $kept"
printf '%s\n' "$kept"
