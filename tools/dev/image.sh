# The container image: a static binary on nothing, as an OCI archive, made without a container engine. Sourced by ./dev.

# What is allowed to grow only on purpose.
readonly image_layer_bytes_max=$((3 << 20)) manager_bytes_max=$((6 << 20)) cotrain_bytes_max=$((8 << 20))

# run_image [amd64|arm64|all] [--check] [--test]: leaves build/image/ with archives, binaries and what they are made of.
run_image() {
  local architectures=amd64 check= tests= each
  while [ $# -gt 0 ]; do
    case $1 in
      amd64 | arm64) architectures=$1 ;;
      all) architectures='amd64 arm64' ;;
      --check) check=1 ;;
      --test) tests=1 ;;
      *) die "image: unknown option '$1'; there are amd64, arm64, all, --check and --test" ;;
    esac
    shift
  done
  case $tests$architectures in 1*amd64*) die "image: --test is for arm64 alone; './dev test --unit' is this machine's" ;; esac
  need image
  [ -z "$tests" ] || need image_tests
  image_epoch
  for each in $architectures; do
    build_static "$each" "$(build_of "$each")"
    pack_image "$each" "$(build_of "$each")"
    [ -z "$check" ] || check_reproducible "$each"
    [ -z "$tests" ] || test_static "$each" "$(build_of "$each")-tests"
  done
}

# The time that everything inside says: the commit's.
image_epoch() {
  export SOURCE_DATE_EPOCH
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
  image_version=${image_version:-$(sed -nE 's/^project\(cotrain VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)}
}

build_of() { case $1 in amd64) echo build/image ;; *) echo "build/image-$1" ;; esac; }

# configure_static ARCHITECTURE BUILD [OPTION…]: with the libraries that the image has
configure_static() {
  local architecture=$1 build=$2 preset=image root
  shift 2
  mkdir -p build
  [ "$architecture" = amd64 ] || preset=image-$architecture
  root=$(tools/image/root.sh "$architecture")
  # A path inside the tree, so that compiler caches can be shared.
  ln -sfn "$root" "build/root-$architecture"
  quietly "$build.configure.log" cmake --preset "$preset" -B "$build" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
}

# build_static ARCHITECTURE BUILD [OPTION…]: manager and cotrain, stripped, below BUILD/stripped
build_static() {
  local program
  configure_static "$@"
  say "building manager and cotrain for linux/$1"
  NINJA_STATUS='[%f/%t %es] ' ninja -C "$2" -j "$jobs" manager cotrain | show_progress
  mkdir -p "$2/stripped"
  for program in manager cotrain; do
    llvm-strip-19 -o "$2/stripped/$program" "$2/$program"
    tools/image/hardened.sh "$2/stripped/$program" "$2/$program" >&2 || die "image: $program for $1 is not hardened"
  done
}

pack_image() {
  local name=build/image/cotrain-linux-$1 digest
  mkdir -p build/image
  digest=$(tools/image/archive.sh "$2/stripped/manager" "$1" "$image_version" "$name.tar")
  printf '%s\n' "$digest" >"$name.digest"
  tools/image/sbom.sh "$2/stripped/manager" "$1" "$image_version" >"$name.spdx.json"
  cp "$2/stripped/manager" "build/image/manager-linux-$1"
  cp "$2/stripped/cotrain" "build/image/cotrain-linux-$1"
  say "$name.tar: $digest"
  within 'layer, compressed' "$(layer_bytes "$name.tar")" $image_layer_bytes_max
  within 'manager' "$(stat -c %s "$2/stripped/manager")" $manager_bytes_max
  within 'cotrain, with everything' "$(stat -c %s "$2/stripped/cotrain")" $cotrain_bytes_max
}

layer_bytes() { tar -tvf "$1" --wildcards './blobs/sha256/?*' | awk '{ if ($3 > most) most = $3 } END { print most }'; }

within() {
  printf '    %-26s %9s bytes of %s\n' "$1" "$2" "$3"
  [ "$2" -le "$3" ] || die "image: $1 has grown over its bound"
}

# test_static ARCHITECTURE BUILD: the unit tests with the image's libraries and flags, run by an emulator. Without
# optimisation while linking, which each of the programs would pay for; and without those tests that start programs.
test_static() {
  local suites filter
  configure_static "$1" "$2" -DCOTRAIN_LTO=OFF
  say "building the unit tests for linux/$1"
  mapfile -t suites < <(cmake --build "$2" --target help | sed -nE 's/^([a-z]+_test): phony$/\1/p' | grep -vE '^(integration|docs)_test$')
  NINJA_STATUS='[%f/%t %es] ' ninja -C "$2" -j "$jobs" "${suites[@]}" | show_progress
  # What an emulator of one process cannot do; lines of tools/image/emulator_cannot say why.
  filter=-$(sed -nE 's/^([a-z_]+\.[a-zA-Z0-9_\/*]+).*/\1/p' tools/image/emulator_cannot | paste -sd:)
  suite_runner=(qemu-aarch64) suite_options=(--gtest_brief=1 "--gtest_filter=$filter")
  run_suites "$1-" "${suites[@]/#/$2/test/}"
  summary
}

# Built once more, somewhere else and from nothing: the same bytes must come out.
check_reproducible() {
  local again=build/image-again digest
  rm -rf $again
  CCACHE_DISABLE=1 build_static "$1" $again
  digest=$(tools/image/archive.sh $again/stripped/manager "$1" "$image_version" $again/image.tar)
  cmp $again/image.tar "build/image/cotrain-linux-$1.tar" ||
    die "image: a second build for $1 gives $digest, not $(cat "build/image/cotrain-linux-$1.digest")"
  cmp $again/stripped/cotrain "build/image/cotrain-linux-$1" || die "image: a second build of cotrain for $1 differs"
  say "linux/$1: a second build gives the same bytes"
  rm -rf $again
}
