#!/usr/bin/env bash
# Instructions per operation (callgrind), at the commit named in bench/gate_base and here, both built and run on this
# machine: fails where one needs over 0.5 % more. To accept more, move gate_base and says why in the commit.
# Without link-time optimisation: what it inlines changes with what is far away, and the compiler cache cannot keep it.
# Usage: gate.sh [BASE]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
top=$PWD
for part in common build instructions; do . "tools/dev/$part.sh"; done
base=${1:-$(cat bench/gate_base)}
git rev-parse --verify --quiet "$base^{commit}" >/dev/null ||
  die "gate: this clone does not have the commit $base (bench/gate_base); fetch its history"
base=$(git rev-parse "$base^{commit}")
gates() { grep -vE '^(#|$)' "$top/bench/gates.txt"; }

# build_benches TREE: the programs of gates.txt, where the tree has them.
build_benches() (
  cd "$1"
  local programs=() each
  for each in $(gates | awk '{ print $1 }' | sort -u); do [ -e "bench/$each.cpp" ] && programs+=("$each"); done
  CCACHE_BASEDIR=$PWD build_into build/counted bench -DCOTRAIN_LTO=OFF -DCOTRAIN_PRECOMPILED=ON \
    '-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG -w' "${programs[@]}"  # warnings are other builds' business
)

# count TREE PROGRAM BENCHMARK N: per operation; nothing if the tree does not have it.
count() {
  local program=$1/build/counted/bench/$2
  [ -x "$program" ] && "$program" --benchmark_list_tests 2>/dev/null | grep -qxF "$3" || return 0
  instructions "$program" "$3" "$4"
}

then=$top/build/gate/$base
if [ ! -e "$then" ]; then
  rm -rf build/gate && mkdir -p "$then"
  git archive "$base" | tar -x -C "$then"
fi
say "instructions per operation: ${base:0:10} and here"
build_benches "$then"
build_benches "$top"
# measure TREE: a line for each gate
measure() {
  gates | while read -r program benchmark n; do
    counted=$(count "$1" "$program" "$benchmark" "$n")
    printf '%s/%s %s\n' "$program" "$benchmark" "${counted:--}"
  done
}
measure "$then" >build/gate/before &
measure "$top" >build/gate/now
wait $!
awk '{ verdict = "new"
       if ($3 == "-") { verdict = "MISSING"; bad = 1 }
       else if ($2 != "-") {
         change = ($3 - $2) / $2 * 100
         verdict = sprintf("%+.2f %%", change)
         if (change > 0.5) { verdict = verdict "  TOO MUCH"; bad = 1 }
       }
       printf "    %-48s %10s %10s  %s\n", $1, $2, $3, verdict }
     END { exit bad }' < <(join <(sort build/gate/before) <(sort build/gate/now)) ||
  die "gate: more work than at ${base:0:10}; find out why, or move bench/gate_base and say why it is worth it"
