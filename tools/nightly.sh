#!/usr/bin/env bash
# What takes too long for every change: a second compiler, the released image on both architectures, the README's own words
# on a bare machine, faults around the operator, long variants of tests, new inputs for the fuzz targets.
# Usage: nightly.sh [SECONDS OF FUZZING PER TARGET]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export COTRAIN_YES=1
failed=()
stage() {
  local name=$1
  shift
  printf '\n### %s\n' "$name"
  "$@" || failed+=("$name")
}
stage 'gcc: the program, and every header alone' tools/dev/gcc.sh
stage 'the image on both architectures, built twice' ./dev image all --check
stage 'a trial release, installed in bare roots' test/release/test.sh
stage 'the demo on a bare Debian 12' test/setup/bare.sh --demo
stage 'faults around the running operator' test/attack/run.sh faults
stage 'mishaps are told as docs/troubleshooting.md says' test/troubleshooting/run.sh --check
stage 'random plans against the reference' test/reference/run.sh
stage 'suites of others with our program' test/suites/run.sh
stage 'suites of others on our API server' test/suites/run.sh apiserver
stage 'the swap of controllers, and back' test/swap/run.sh
stage 'each Kubernetes that is supported, and the oldest stack' test/stacks.sh
stage 'long variants of tests' env COTRAIN_TEST_FULL=1 ./dev test
stage 'fuzz with new seeds' ./dev fuzz --nightly "${1:-600}"
printf '\n%s stages failed\n' ${#failed[@]}
printf '    %s\n' "${failed[@]}"
[ ${#failed[@]} = 0 ]
