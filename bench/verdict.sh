#!/usr/bin/env bash
# Whether the bench's verdict holds: so many comparisons of a controller with one that takes 15 % longer for each object, and
# as many with itself. Prints a line for each, and how many were called slower.
#   bench/verdict.sh COTRAIN CANNED [COMPARISONS]        default: 20
set -euo pipefail
cotrain=${1:?usage: verdict.sh COTRAIN CANNED [COMPARISONS]} canned=${2:?} comparisons=${3:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
readonly base=4000 slower=4700 # microseconds; with the rest of create → done, 15 %

# compare MICROSECONDS: a line with the verdict on create → done, p50, and on CPU
compare() {
  local code=0
  "$cotrain" bench --jobs 60 --rate 60 --warm-up 5 --repetitions 8 --script 'start 1ms, ready 1ms, run 1ms' --fail-over 5% \
    --controller "head=$canned {kubeconfig} $1" --baseline-controller "base=$canned {kubeconfig} $base" >"$work/out" 2>"$work/err" || code=$?
  [ $code -le 1 ] || { cat "$work/err" >&2; exit 1; }
  sed -n -E 's/^(create → done, p50|CPU an object) +head +(× .*[^ ]) +(WORSE|better|same|not told apart)$/\1: \2 \3/p' "$work/out" |
    paste -sd ';' | sed "s/^/exit $code: /; s/;/; /"
}
for delay in $slower $base; do
  called=0
  for ((i = 1; i <= comparisons; ++i)); do
    line=$(compare $delay)
    printf '%2s  %s us beside %s us: %s\n' "$i" "$delay" "$base" "$line"
    case $line in *'p50'*WORSE*) called=$((called + 1)) ;; esac
  done
  printf '%s us beside %s us: create → done called slower %s times of %s\n' "$delay" "$base" "$called" "$comparisons"
done
