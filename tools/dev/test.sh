# Running the tests: units first, then everything that talks to a real API server. Sourced by ./dev.

passed=0 failed=0 skipped=0 failures=()

# run_suite NAME COMMAND…: a GoogleTest program; its counts are added up from its own report.
run_suite() {
  run_program "$@"
  count_suite "$1"
}

# run_suites PREFIX PROGRAM…: as many at a time as there are processors, the largest first, since they take longest.
# ${suite_runner[@]} runs them, with ${suite_options[@]}.
suite_runner=() suite_options=(--gtest_brief=1)
run_suites() {
  local prefix=$1 each running=0
  shift
  mapfile -t programs < <(ls -S "$@")
  for each in "${programs[@]}"; do
    run_program "$prefix$(basename "$each" _test)" "${suite_runner[@]}" "$each" "${suite_options[@]}" &
    [ $((++running)) -lt "$(nproc)" ] || { wait -n; running=$((running - 1)); }
  done
  wait
  for each in "$@"; do count_suite "$prefix$(basename "$each" _test)"; done
}

# run_program NAME COMMAND…: its output and its exit code into build/test-logs
run_program() {
  local log=build/test-logs/$1.log code=0
  say "$1"
  shift
  mkdir -p build/test-logs
  "$@" >"$log" 2>&1 || code=$?
  echo $code >"${log%.log}.code"
}

count_suite() {
  local name=$1 log=build/test-logs/$1.log code ok bad skip
  code=$(<"${log%.log}.code")
  ok=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
  bad=$(sed -nE 's/^ ?([0-9]+) FAILED TESTS?$/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
  skip=$(sed -nE 's/^\[  SKIPPED \] ([0-9]+) tests?,.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
  if [ "$code" != 0 ]; then
    [ "$bad" != 0 ] || bad=1
    grep -vE '^\[ +(OK|RUN) ' "$log" | tail -n 80 >&2
    failures+=("$name")
  elif [ "$ok" = 0 ]; then
    printf 'dev: %s ran no test\n' "$name" >&2
    bad=1
    failures+=("$name")
  fi
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
  printf '    %s: %s passed, %s failed, %s skipped\n' "$name" "$ok" "$bad" "$skip"
}

# has_tests PROGRAM PATTERN: whether it has tests of such a name.
has_tests() { [ "$2" = '*' ] || [ -n "$("$1" --gtest_list_tests --gtest_filter="$2" | grep '^  ')" ]; }

run_tests() {
  local units_only= apiserver_only= filter='*' page= each units=()
  while [ $# -gt 0 ]; do
    case $1 in
      --unit) units_only=1 ;;
      --apiserver) apiserver_only=1 ;;
      --page) page=1 ;;
      --only) filter=${2:?--only needs a pattern} && shift ;;
      *) die "test: unknown option '$1'" ;;
    esac
    shift
  done
  if [ -n "$page" ]; then
    need page
    build_preset dev cotrain
    test/browser/page.sh build/dev/cotrain
    test/browser/fleet_page.sh build/dev/cotrain
    return
  fi
  build_preset dev ${apiserver_only:+integration_test}
  for each in build/dev/test/*_test; do
    [ -z "$apiserver_only" ] || break
    [ "$each" = build/dev/test/integration_test ] && continue
    ! has_tests "$each" "$filter" || units+=("$each")
  done
  suite_options+=("--gtest_filter=$filter")
  [ ${#units[@]} = 0 ] || run_suites '' "${units[@]}"
  [ -n "$units_only" ] || ! has_tests build/dev/test/integration_test "$filter" || run_against_apiserver "$filter"
  [ $((passed + failed + skipped)) != 0 ] || die "test: no test is called '$filter'; names are SUITE.TEST, * matches anything"
  summary
}

# slowest REPORT: the tests that took longest, for who wants shorter runs
slowest() {
  [ -e "$1" ] || return 0
  awk -F '"' '$2 == "name" { name = $4 } $2 == "time" { time = $4 } $2 == "classname" { print time, $4 "." name }' "$1" | sort -rg |
    awk '{ all += $1; if (NR <= 5) longest = longest (NR == 1 ? "" : ", ") $2 " " int($1 + 0.5) " s" }
      END { print "    " int(all) " s, the longest: " longest }'
}

# One API server for the whole run; the launcher stops it whatever happens.
run_against_apiserver() {
  local bin crds seconds=1800
  [ -z "${COTRAIN_TEST_FULL:-}" ] || seconds=2700
  bin=$(test/controlplane/build.sh base jobset | tail -n 1) || die "the API server could not be built, see above"
  crds=$(test/controlplane/build.sh path | tail -n 1)
  run_suite 'kube-apiserver' timeout -k 20 $seconds "$bin/controlplane" exec --dir build/controlplane --audit --crds "$crds" -- \
    build/dev/test/integration_test --gtest_brief=1 --gtest_filter="$1" --gtest_output=json:build/test-logs/kube-apiserver.json
  slowest build/test-logs/kube-apiserver.json
}

summary() {
  local each
  for each in "${failures[@]}"; do printf 'FAILED: %s (build/test-logs/%s.log)\n' "$each" "$each"; done
  if [ $skipped != 0 ]; then printf 'SKIPPED: %s tests; a skipped test counts as a failure\n' $skipped; fi
  printf '%s passed, %s failed, %s skipped\n' $passed $failed $skipped
  [ $failed = 0 ] && [ $skipped = 0 ]
}
