# Configuring and building CMake presets, and showing the result. Sourced by ./dev.

pick_compiler() {
  [ -n "${CXX:-}" ] && return
  if have g++-14; then
    export CC=gcc-14 CXX=g++-14
  else
    die "no g++-14; './dev setup' installs it, or set CC and CXX"
  fi
}

# build_preset PRESET [targets…]: leaves build/PRESET, with the compiler from CXX.
build_preset() {
  local preset=$1
  shift
  pick_compiler
  quietly "build/$preset.configure.log" cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  say "building $preset"
  NINJA_STATUS='[%f/%t %es] ' ninja -C "build/$preset" -j "$jobs" "$@" | show_progress
}

# A terminal sees one moving line, a log a line now and then; errors are shown whole.
show_progress() {
  if [ -t 1 ]; then
    cat
    return
  fi
  local line done total
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\  ]]; then
      done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
      ((done % 25 == 0 || done == total)) || continue
    fi
    printf '%s\n' "$line"
  done
}

# What a TrainJob becomes, from files alone; then the whole way to Complete in one process.
run_demo() {
  local each
  for each in examples/torch.yaml examples/mpi.yaml; do
    say "cotrain render -f $each -o summary"
    build/release/cotrain render -f "$each" -o summary
  done
  say 'cotrain demo'
  build/release/cotrain demo "$@"
}

# Every goal beside its figure; kept under bench/results/.
run_bench() {
  build_preset bench
  bench/goals.sh build/bench "$@"
}
