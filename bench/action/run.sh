#!/usr/bin/env bash
# What the action does, by the names of its inputs: leaves bench.json, bench.html, bench.md and bench.txt behind.
set -euo pipefail
: "${HEAD:?the command of the new controller}"
compared=() options=()
[ -z "${BASE:-}" ] || compared=(--baseline-controller "base=$BASE" --fail-over "${FAIL_OVER:-10%}")
eval "options=(${OPTIONS:-})" # as a shell reads them, quotes and all
exec "${PROGRAM:-cotrain}" bench --controller "head=$HEAD" "${compared[@]}" "${options[@]}" \
  --json bench.json --html bench.html --markdown bench.md --benchstat bench.txt
