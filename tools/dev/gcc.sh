#!/usr/bin/env bash
# A second compiler: GCC 14 with Debian 13's libraries compiles the program and each header alone. All of it
# is unpacked into the cache and runs with the C library that came along; the system keeps its own.
# Usage: gcc.sh [CMAKE-TARGET…]   (default: cotrain and header_check)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common libraries build; do . "tools/dev/$part.sh"; done
readonly root=$cache/gcc-14
readonly packages=(g++-14 libc6-dev libboost1.88-dev libnghttp2-dev libyaml-dev libssl-dev libfmt-dev)

# Programs name their loader by absolute path: they get that of the root, and to look for libraries there, which
# holds for what those libraries need (RPATH), too.
unpack_gcc() {
  local work=$root.work each loader
  say "unpacking GCC 14 with Debian 13's libraries into $root (the system keeps what it has)"
  have patchelf || die "gcc.sh needs patchelf; './dev setup' installs it"
  rm -rf "$work" && mkdir -p "$work/root"
  : >"$work/no-packages"
  private_apt trixie deb -o Dir::State::status="$work/no-packages" -o APT::Install-Recommends=false -y --download-only \
    install "${packages[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "gcc.sh: apt cannot download GCC 14 of Debian 13"; }
  # Debian 13 keeps everything below /usr; these links are made by a package's script.
  mkdir -p "$work/root/usr/lib" "$work/root/usr/lib64" "$work/root/usr/bin"
  ln -s usr/lib "$work/root/lib" && ln -s usr/lib64 "$work/root/lib64" && ln -s usr/bin "$work/root/bin"
  for each in "$cache"/apt/trixie-deb/archives/*.deb; do dpkg-deb --fsys-tarfile "$each" | tar -x -C "$work/root" --keep-directory-symlink; done
  rm -f "$cache"/apt/trixie-deb/archives/*.deb
  loader=$root/lib64/ld-linux-x86-64.so.2
  find "$work/root/usr/bin" "$work/root/usr/libexec/gcc" -type f -perm -100 | while read -r each; do
    patchelf --print-interpreter "$each" >/dev/null 2>&1 || continue
    patchelf --force-rpath --set-interpreter "$loader" --set-rpath "$root/usr/lib/x86_64-linux-gnu" "$each"
  done
  rm -rf "$root" && mv "$work/root" "$root" && rm -rf "$work"
}

[ "$(uname -m)" = x86_64 ] || die "gcc.sh: the packages are named for x86_64 alone"
[ -e "$root/usr/bin/x86_64-linux-gnu-g++-14" ] && [ -e "$root/usr/include/yaml.h" ] || unpack_gcc
export COTRAIN_CXX=$root/usr/bin/x86_64-linux-gnu-g++-14 CC=$root/usr/bin/x86_64-linux-gnu-gcc-14
linked="-Wl,--dynamic-linker=$root/lib64/ld-linux-x86-64.so.2 -Wl,-rpath,$root/usr/lib/x86_64-linux-gnu"
[ $# -gt 0 ] || set -- cotrain header_check
PATH=$root/usr/bin:$PATH build_into build/gcc gcc "-DCMAKE_SYSROOT=$root" "-DCMAKE_EXE_LINKER_FLAGS=$linked" "$@"
say "built by $("$COTRAIN_CXX" --version | head -n 1)"
[ ! -x build/gcc/cotrain ] || build/gcc/cotrain version
