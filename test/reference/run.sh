#!/usr/bin/env bash
# Random TrainJobs and runtimes, planned by the reference's own packages and by `cotrain render`: both must make the same.
#   test/reference/run.sh [PAIRS] [SEED] [COTRAIN]   10000 pairs, a seed of the day, build/dev/cotrain
# The packages come from the module proxy. Pairs that differ are kept in build/reference. About four minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH=$PATH:/usr/local/go/bin:${COTRAIN_CACHE:-$HOME/.cache/cotrain}/go/bin
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
cotrain=${3:-build/dev/cotrain}
[ -x "$cotrain" ] || { echo "test/reference: $cotrain is missing: build it first, or name another" >&2; exit 2; }
mkdir -p build/reference
(cd test/reference && CGO_ENABLED=0 go build -o ../../build/reference/compare .)
build/reference/compare -pairs "${1:-10000}" -seed "${2:-$(date +%Y%m%d)00000}" -cotrain "$cotrain" -keep build/reference
