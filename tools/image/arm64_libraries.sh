#!/usr/bin/env bash
# What the image and its tests link with on linux/arm64 beside OpenSSL, for which Debian has no packages on other
# machines: nghttp2 and GoogleTest, built once from Debian's sources and kept in the cache.
# Usage: arm64_libraries.sh   prints the directory with include/ and lib/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common setup; do . "tools/dev/$part.sh"; done
readonly version=1.64.0 sha256=b452dc69a1fcbc9375389b8b154175d8b7b125cdd713fc426774c2b79a1ebd77 tests=/usr/src/googletest
readonly flags='-O2 -ffunction-sections -fdata-sections'
key=$(printf '%s\n' "$version $sha256 $flags" "$(aarch64-linux-gnu-g++-14 --version | head -n 1)" "$(sha256sum $tests/CMakeLists.txt)" | sha256sum | cut -c 1-16)
readonly kept=$cache/arm64-libraries-$key
if [ -e "$kept/lib/libnghttp2.a" ]; then
  printf '%s\n' "$kept"
  exit
fi
mkdir -p "$cache"
work=$(mktemp -d "$cache/arm64-work.XXXXXX")
trap 'rm -rf "$work"' EXIT

fetch_nghttp2() {
  local archive=$cache/nghttp2-$version.tar.gz mirror
  mirror=$(apt_mirror)
  if [ ! -e "$archive" ]; then
    curl -fsSL --connect-timeout 20 -o "$archive.part" "${mirror:-https://deb.debian.org/debian}/pool/main/n/nghttp2/nghttp2_$version.orig.tar.gz" &&
      mv "$archive.part" "$archive" || die "image: nghttp2 $version cannot be fetched; put Debian's source archive at $archive"
  fi
  printf '%s  %s\n' $sha256 "$archive" | sha256sum --check --quiet - >&2 ||
    die "image: $archive is not Debian's source of nghttp2 $version; delete it"
  tar -xzf "$archive" -C "$work"
}

# cross SOURCE BUILD OPTION…: configured, built and installed below $work/kept
cross() {
  local source=$1 build=$work/$2
  shift 2
  quietly "$work/log" cmake -G Ninja -S "$source" -B "$build" "-DCMAKE_TOOLCHAIN_FILE=$PWD/cmake/aarch64_linux_gnu.cmake" \
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=$flags -DNDEBUG -ffile-prefix-map=$work=." "-DCMAKE_CXX_FLAGS_RELEASE=$flags" \
    -DCMAKE_INSTALL_LIBDIR=lib "-DCMAKE_INSTALL_PREFIX=$work/kept" -DBUILD_SHARED_LIBS=OFF "$@"
  quietly "$work/log" ninja -C "$build" -j "$jobs" install
}

say "nghttp2 $version and GoogleTest for arm64: once, about a minute"
fetch_nghttp2
cross "$work/nghttp2-$version" nghttp2 -DENABLE_LIB_ONLY=ON -DBUILD_STATIC_LIBS=ON -DENABLE_DOC=OFF -DBUILD_TESTING=OFF
cross $tests googletest
mv -T "$work/kept" "$kept" 2>/dev/null || [ -e "$kept/lib/libnghttp2.a" ] || die "image: cannot write $kept"
printf '%s\n' "$kept"
