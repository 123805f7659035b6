# Counts instructions of Google Benchmark programs under callgrind; sourced.

# collected PROGRAM BENCHMARK N: of a whole run with N iterations.
collected() {
  "$1" --benchmark_filter="^$2\$" --benchmark_min_time=1x >/dev/null || die "$1 does not run $2"
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" --benchmark_filter="^$2\$" --benchmark_min_time="$3x" 2>&1 |
    sed -nE 's/.*Collected : ([0-9]+).*/\1/p'
}

# instructions PROGRAM BENCHMARK N: of one iteration, start-up taken out.
instructions() {
  local few many
  few=$(collected "$1" "$2" "$3") && many=$(collected "$1" "$2" $((3 * $3))) || return
  [ "$many" -gt "$few" ] || die "$1: more iterations of $2 took no more instructions"
  echo $(((many - few) / (2 * $3)))
}
