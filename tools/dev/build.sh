# Configuring and building CMake presets, and showing the result. Sourced by ./dev.

# COTRAIN_CXX (or CXX) chooses another compiler: COTRAIN_CXX=g++-14 ./dev test
pick_compiler() {
  export CXX=${COTRAIN_CXX:-${CXX:-clang++-19}}
  case ${CC:-} in '') CC=${CXX/clang++/clang} CC=${CC/g++/gcc} ;; esac
  export CC
  have "$CXX" || die "no $CXX; './dev setup' installs clang++-19, or COTRAIN_CXX names another compiler"
}

# build_preset PRESET [targets…]: leaves build/PRESET, with the compiler from CXX.
build_preset() { build_into "build/$1" "$@"; }

# build_into DIRECTORY PRESET [-DOPTION=VALUE…] [targets…]: one at a time, as two stages of CI may want the same.
build_into() {
  local directory=$1 preset=$2 options=()
  shift 2
  while [[ ${1:-} = -D* ]]; do options+=("$1") && shift; done
  pick_compiler
  mkdir -p build
  {
    flock 9
    quietly "$directory.configure.log" cmake --preset "$preset" -B "$directory" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
      "-DCOTRAIN_LIBRARIES=$cache/libraries" "${options[@]}"
    say "building ${directory#build/}"
    precompile "$directory"
    NINJA_STATUS='[%f/%t %es] ' ninja -C "$directory" -j "$jobs" "$@" | show_progress
  } 9>"$directory.lock"
}

# Clang's precompiled headers name the files they were made of by absolute path, and are refused where one is gone: each
# tree makes its own. What was compiled with them is every clone's all the same: a sum of those files identifies them.
precompile() {
  local each made
  mapfile -t made < <(ninja -C "$1" -t targets all | sed -n 's/\.pch: CXX_COMPILER.*/.pch/p')
  [ ${#made[@]} -gt 0 ] || return 0
  export CCACHE_PCH_EXTSUM=1
  CCACHE_DISABLE=1 ninja -C "$1" -j "$jobs" --quiet "${made[@]}"
  for each in "${made[@]}"; do
    (cd "$1" && ninja -t deps "$each" | sed -n 's/^ \+//p' | xargs -d '\n' cat | sha256sum >"$each.sum")
  done
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
