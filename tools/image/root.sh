#!/usr/bin/env bash
# All that the image's programs link with, laid out as the root of a system: libc, libc++ and headers from the packages in
# tools/image/pins, OpenSSL (trimmed), nghttp2 and libyaml built from Debian's patched sources. Of this machine only clang takes
# part. Built once for all that goes into it, kept in the cache.
# Usage: root.sh amd64|arm64   prints the directory
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
top=$PWD
for part in common libraries; do . "tools/dev/$part.sh"; done
readonly architecture=${1:-}
case $architecture in
  amd64) processor=x86_64 target=linux-x86_64 branches=-fcf-protection=full ;;
  arm64) processor=aarch64 target=linux-aarch64 branches=-mbranch-protection=standard ;;
  *) die "root.sh: amd64 or arm64, not '$architecture'" ;;
esac
# As in cmake/cotrain_flags.cmake. C code needs no unwind tables: no exception passes through it.
flags="-fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables"
flags+=" -fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 $branches"
mapfile -t options < <(grep -v '^#' tools/image/openssl_options | tr -s ' ' '\n')
pins=$(grep -E "^[a-z]+ ($architecture|all|source) " tools/image/pins)
clang=$(clang-19 -print-resource-dir)
key=$(printf '%s\n' "$pins" "${options[@]}" "$(clang-19 --version | head -n 1)" "$(cat tools/image/root.sh tools/image/wiping_free.h)" | sha256sum | cut -c 1-16)
readonly kept=$cache/root-$architecture-$key
if [ -e "$kept/usr/lib/$processor-linux-gnu/libyaml.a" ]; then
  printf '%s\n' "$kept"
  exit
fi
mkdir -p "$cache/pinned"
work=$(mktemp -d "$cache/root-work.XXXXXX")
trap 'rm -rf "$work"' EXIT
readonly root=$work/root libraries=$work/root/usr/lib/$processor-linux-gnu

# pinned SUM PATH: prints where the file is, which is what the pin says
pinned() {
  local file=$cache/pinned/$1-${2##*/} mirror from
  for from in "$(apt_mirror)" http://deb.debian.org/debian; do
    [ -n "$from" ] && [ ! -e "$file" ] || continue
    case $2 in debian-security/*) from=$from-security ;; esac
    mirror=$from/${2#*/}
    curl -fsSL --connect-timeout 20 --retry 2 -o "$file.$$" "$mirror" 2>/dev/null || continue
    printf '%s  %s\n' "$1" "$file.$$" | sha256sum --check --status - && mv "$file.$$" "$file"
  done
  rm -f "$file.$$"
  [ -e "$file" ] || die "image: no mirror has $2 with the sum of tools/image/pins: newer ones by 'tools/image/pins.sh update', or put it at $file"
  printf '%s' "$file"
}

unpack_packages() {
  local kind sum path file
  mkdir -p "$root"
  while read -r _ kind _ _ sum path; do
    [ "$kind" != source ] || continue
    file=$(pinned "$sum" "$path")
    dpkg-deb -x "$file" "$root"
  done <<<"$pins"
  # The compiler's own headers go with the compiler.
  rm -rf "$root/usr/lib/llvm-19/lib/clang/19/include"
  ln -s "$clang/include" "$root/usr/lib/llvm-19/lib/clang/19/include"
  # Programs take fmt's headers only; its description insists on a shared library.
  rm -f "$libraries"/cmake/fmt/fmt-targets-*.cmake
}

# unpack_source NAME: Debian's source with its patches, in $work/NAME
unpack_source() {
  local name sum path file each
  mkdir "$work/$1"
  while read -r _ _ name _ sum path; do
    [ "$name" = "$1" ] || continue
    file=$(pinned "$sum" "$path")
    case $path in
      *.debian.tar.*) tar -xf "$file" -C "$work/$1" ;;
      *) tar -xf "$file" -C "$work/$1" --strip-components=1 ;;
    esac
  done < <(grep ' source ' <<<"$pins")
  [ ! -e "$work/$1/debian/patches/series" ] || sed -E 's/[ #].*//; /^$/d' "$work/$1/debian/patches/series" | while read -r each; do
    quietly "$work/log" patch -d "$work/$1" -p1 -f -s -i "debian/patches/$each"
  done
}

build_openssl() {
  # Paths from where it is built: OpenSSL keeps the words of its compiler.
  local compiler="clang-19 --target=$processor-linux-gnu --sysroot=../root -resource-dir ../root/usr/lib/llvm-19/lib/clang/19"
  unpack_source openssl
  cd "$work/openssl"
  # A date of its own, so that the same options give the same bytes.
  export SOURCE_DATE_EPOCH=1767225600 CCACHE_DISABLE=1
  quietly "$work/log" ./Configure "$target" --prefix=/usr --openssldir=/etc/ssl --libdir="lib/$processor-linux-gnu" "${options[@]}" \
    "CC=$compiler" AR=llvm-ar-19 RANLIB=llvm-ranlib-19 "CFLAGS=-Oz $flags"
  quietly "$work/log" make -j "$jobs" build_generated
  # What is made for AVX-512 is 0.7 MiB that a control plane never feels; for an assembler that is too old to know
  # AVX-512 the generators leave it out.
  if [ "$architecture" = amd64 ]; then
    quietly "$work/log" make 'CC=echo GNU assembler version 2.20' crypto/modes/aes-gcm-avx512.s \
      crypto/bn/rsaz-{2k,3k,4k}-avx{512,ifma}.s
  fi
  quietly "$work/log" make -j "$jobs" libcrypto.a libssl.a
  cp libcrypto.a libssl.a "$libraries"
  cp -r include/openssl "$root/usr/include/"
  rm -f "$root"/usr/include/openssl/*.in
  cd "$top"
}

# build_with_cmake NAME FLAGS OPTION…
build_with_cmake() {
  local name=$1 more=$2
  shift 2
  unpack_source "$name"
  quietly "$work/log" cmake -G Ninja -S "$work/$name" -B "$work/$name/build" "-DCMAKE_TOOLCHAIN_FILE=$top/cmake/image.cmake" \
    "-DCOTRAIN_ROOT=$root" "-DCOTRAIN_PROCESSOR=$processor" -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_C_FLAGS_RELEASE=-DNDEBUG $flags $more -ffile-prefix-map=$work=. -ffile-prefix-map=$top=." -DCMAKE_INSTALL_PREFIX=/usr \
    "-DCMAKE_INSTALL_LIBDIR=lib/$processor-linux-gnu" -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF "$@"
  DESTDIR=$root quietly "$work/log" ninja -C "$work/$name/build" -j "$jobs" install
}

say "the image's libraries for $architecture: once, about three minutes"
unpack_packages
build_openssl
build_with_cmake nghttp2 -O2 -DENABLE_LIB_ONLY=ON -DBUILD_STATIC_LIBS=ON -DENABLE_DOC=OFF
# A kubeconfig's tokens and keys pass through it.
build_with_cmake libyaml "-Oz -include $top/tools/image/wiping_free.h" "-DINSTALL_LIB_DIR=lib/$processor-linux-gnu" \
  -DCMAKE_POLICY_VERSION_MINIMUM=3.5
mv -T "$root" "$kept" 2>/dev/null || [ -e "$kept/usr/lib/$processor-linux-gnu/libyaml.a" ] || die "image: cannot write $kept"
printf '%s\n' "$kept"
