#!/usr/bin/env bash
# How fast envtest starts: `cotrain apiserver` beside kube-apiserver and etcd, in turns in one run.
#   bench/envtest.sh [ROUNDS]    10; COTRAIN_PROGRAM is ours (build/release/cotrain)
# Prints medians: from Start() to the first event of a watch, from kube-apiserver's exec to /healthz, and memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/dev/versions.sh
PATH=$PATH:/usr/local/go/bin:${COTRAIN_CACHE:-$HOME/.cache/cotrain}/go/bin
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto} CGO_ENABLED=0 GOFLAGS=
program=$(realpath "${COTRAIN_PROGRAM:-build/release/cotrain}")
work=$PWD/build/envtest trainer=github.com/kubeflow/trainer/v2
from=$(module_files $trainer)
[ -x "$program" ] && [ -d "$from" ] || { echo "bench/envtest.sh: $program or the sources of $trainer are missing" >&2; exit 2; }
real=$(test/controlplane/build.sh base | tail -n 1)
mkdir -p "$work/start"
# Its go.mod has what the program needs.
cp --no-preserve=mode "$from"/go.mod "$from"/go.sum "$work/"
cp test/suites/start.go "$work/start/main.go"
(cd "$work" && go build -o run ./start)
"$program" apiserver --envtest "$work/assets" >/dev/null
export KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=180s KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT=60s
"$work/run" "${1:-10}" "cotrain=$work/assets" "kubernetes=$real" | tee "$work/samples"
# column NAME N: the median
median() { awk -v name="$1" -v at="$2" '$1 == name { print $at }' "$work/samples" | sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
row() { awk -v what="$1" -v a="$(median cotrain "$2")" -v b="$(median kubernetes "$2")" 'BEGIN { printf "%-44s %10.1f %12.1f %8.1fx\n", what, a, b, b / a }'; }
printf '\n%-44s %10s %12s %9s\n' "median of ${1:-10}" cotrain kubernetes ratio
row 'Start() to first event of a watch, ms' 2
row 'kube-apiserver: exec to healthy, ms' 3
row 'resident, MiB' 4
