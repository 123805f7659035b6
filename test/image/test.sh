#!/usr/bin/env bash
# That the two guards of the image refuse what they are there for: programs that lack one of the hardening flags, and pins
# that Debian has a newer version of. Then our own everyday program before the first.
# Usage: test.sh [PROGRAM]   default: build/dev/cotrain
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=${1:-build/dev/cotrain}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0
fail() {
  printf 'test/image: %s\n' "$1" >&2
  exit 1
}
# refused WORDS COMMAND…: it fails and says WORDS
refused() {
  local words=$1
  shift
  ! "$@" >"$work/said" 2>&1 || fail "passes, and should say '$words': $*"
  grep -qF -- "$words" "$work/said" || { cat "$work/said" >&2 && fail "does not say '$words': $*"; }
  checks=$((checks + 1))
}
passes() {
  "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2 && fail "refused: $*"; }
  checks=$((checks + 1))
}

# One function of each part that the guard tells apart by names, as the compiler would name them.
for name in _ZN7cotrain4testEv nghttp2_test yaml_test SSL_test; do
  printf 'int %s(const char* text) { char copy[64]; for (int i = 0; (copy[i] = text[i]) != 0; ++i) continue; return use(copy); }\n' $name
done | cat <(printf 'int use(char* text) { return text[0]; }\n') - <(printf 'int main(int n, char** words) { return _ZN7cotrain4testEv(words[n - 1]) + nghttp2_test(words[0]) + yaml_test(words[0]) + SSL_test(words[0]); }\n') >"$work/parts.c"
good=(-O1 -fno-inline -fPIE -fstack-protector-strong -static-pie -fuse-ld=lld -Wl,-z,now)
case $(uname -m) in aarch64) good+=(-mbranch-protection=standard) ;; *) good+=(-fcf-protection=full) ;; esac
# built OPTION…: with all of the good ones before. fixed: at an address of its own.
built() { clang-19 "${good[@]}" "$@" "$work/parts.c" -o "$work/parts" && tools/image/hardened.sh "$work/parts" "$work/parts"; }
fixed() { clang-19 "${good[@]/-static-pie/-static}" "$work/parts.c" -o "$work/parts" && tools/image/hardened.sh "$work/parts" "$work/parts"; }
passes built
refused 'not position independent' fixed
refused 'no RELRO' built -Wl,-z,norelro
refused 'RELRO is partial' built -Wl,-z,lazy
refused 'an executable stack' built -Wl,-z,execstack
refused 'writable and executable' built -Wl,--omagic
refused 'openssl has no stack canaries' built -fno-stack-protector
refused 'nghttp2 is built without' built -fcf-protection=none
passes tools/image/hardened.sh "$program"

newer() { sed "/ $1 /s/$2/$3/" tools/image/pins >"$work/debian" && tools/image/pins.sh check "$work/debian"; }
passes newer nothing changes at-all
refused 'nghttp2/source: the image has 1.64.0-1.1+deb13u1, Debian trixie has 1.64.0-1.1+deb13u9' newer nghttp2 deb13u1 deb13u9
refused 'libc6-dev/arm64' newer libc6-dev deb13u4 deb13u9
# An older source stays where no mirror has the newer one, and where each of its fixes is shown not to concern us.
unserved() {
  printf 'nghttp2 (1.64.0-1.1+deb13u9) x\n  * CVE-2026-1 one\n    CVE-2026-2\nnghttp2 (1.64.0-1.1+deb13u1) x\n  * CVE-2025-3\n' >"$work/changelog"
  printf 'nghttp2 CVE-2026-1 %s\nnghttp2 CVE-2026-2 %s\n' "$1" "$2" >"$work/waived"
  sed '/ nghttp2 /s/deb13u1/deb13u9/g' tools/image/pins >"$work/debian"
  COTRAIN_PINS_WAIVED=$work/waived COTRAIN_PINS_CHANGELOG=$work/changelog tools/image/pins.sh check "$work/debian"
}
passes unserved no-dtls unused:SSL_set_SSL_CTX
passes unserved no-dtls bounded:a_peers_certificates_are_bounded
refused 'fixes CVE-2026-2, and' unserved no-dtls ''
refused 'fixes CVE-2026-1, and' unserved no-such-option no-dtls
refused 'fixes CVE-2026-2, and' unserved no-dtls unused:SSL_CTX_new
refused 'fixes CVE-2026-2, and' unserved no-dtls bounded:no_such_test
served() { sed '/ nghttp2 /s/deb13u1/deb13u9/' tools/image/pins >"$work/debian" && tools/image/pins.sh check "$work/debian"; }
refused 'nghttp2 1.64.0-1.1+deb13u9 can be had' served
printf 'test/image: %s checks passed\n' $checks
