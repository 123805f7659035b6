#!/usr/bin/env bash
# Fails unless a program has what makes a defect of memory harder to use. Its ELF headers tell of addresses and pages; its
# machine code, read with the symbols of the program before stripping, of canaries and of places that may be branched to.
# Usage: hardened.sh PROGRAM [UNSTRIPPED]   the second for static programs: all of ours, nghttp2's, libyaml's and OpenSSL's code is judged
set -euo pipefail
export LC_ALL=C
readonly program=$1 symbols=${2:-}
bad=0
refuse() { printf 'hardened: %s: %s\n' "$program" "$1" >&2 && bad=1; }
headers=$(readelf -hldW "$program")
says() { grep -qE "$1" <<<"$headers"; }

says 'Type: +DYN' && says 'FLAGS_1.* PIE' || refuse 'not position independent'
says '^ +GNU_RELRO ' || refuse 'no RELRO'
says 'FLAGS_1.* NOW|\(BIND_NOW\)' || refuse 'not bound when loaded: RELRO is partial'
says '^ +GNU_STACK .* RW +0' || refuse 'an executable stack'
! says '^ +[A-Z_]+ .* RWE ' || refuse 'memory that is writable and executable'
! says '\(TEXTREL\)' || refuse 'relocations in its code'
# A CET or BTI note would have the kernel enforce what the instructions allow. Debian's libc for amd64 has none; for arm64
# libunwind has none, and a program that is marked all the same faults at its first exception. So none is asked for, and
# the instructions are counted below.
if says 'Machine: +AArch64'; then branch='bti|paciasp|pacibsp'; else branch=endbr64; fi

if [ -n "$symbols" ]; then
  ! says '^ +INTERP ' || refuse 'not static'
  # Of each part: functions, those that check a canary, those that begin with a branch target.
  while read -r part functions canaries targets; do
    printf '    %-8s %6s functions, %5s with canary, %5s branch targets\n' "$part" "$functions" "$canaries" "$targets"
    [ $((canaries * 50)) -gt "$functions" ] || refuse "$part has no stack canaries"
    [ $((targets * 20)) -gt "$functions" ] || refuse "$part is built without -fcf-protection or -mbranch-protection"
  done < <(llvm-objdump-19 -d --no-show-raw-insn --no-leading-addr "$symbols" | awk -v branch="^($branch)\$" '
    /^<.*>:$/ {
      part = ""
      if ($0 ~ /^<_ZN?K?[A-Z]*7cotrain/) part = "cotrain"
      else if ($0 ~ /^<nghttp2_/) part = "nghttp2"
      else if ($0 ~ /^<yaml_/) part = "libyaml"
      else if ($0 ~ /^<(SSL|ssl|tls|EVP|evp|ossl|OSSL|X509|ASN1|BN)_/) part = "openssl"
      if (part != "") ++functions[part]
      first = 1
      checked = 0
      next
    }
    part == "" || NF == 0 { next }
    first { targets[part] += $1 ~ branch; first = 0 }
    /<__stack_chk_fail/ && !checked { ++canaries[part]; checked = 1 }
    END {
      split("cotrain nghttp2 libyaml openssl", parts, " ")
      for (i = 1; i <= 4; ++i) printf "%s %d %d %d\n", parts[i], functions[parts[i]], canaries[parts[i]], targets[parts[i]]
    }')
fi
exit $bad
