#!/usr/bin/env bash
# What was run with what: our operator on an API server of each version of test/versions, with the integration tests, with
# jobs of the Kubeflow SDK, and beside Kueue in its own suite.
#   test/stacks.sh [MINOR…]     1.37 1.36 … (all of test/versions); writes the rows of docs/versions.md
# About 10 minutes a version when everything is built, and as much once for building its API server.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/dev/versions.sh
say() { printf 'test/stacks: %s\n' "$*" >&2; }
minor_of() { sed -E 's/^v([0-9]+\.[0-9]+).*/\1/' <<<"$1"; }
mapfile -t all < <(versions_of k8s.io/kubernetes controlplane; versions_of k8s.io/kubernetes controlplane/older)
page=docs/versions.md log=build/stacks
mkdir -p $log
(($# > 0)) || set -- $(for each in "${all[@]}"; do minor_of "$each"; done)

# outcome NAME PATTERN COMMAND…: what the pattern finds in the last lines that the command writes, or "failed"
failures=0
outcome() {
  local name=$1 pattern=$2 code=0
  shift 2
  say "$name"
  "$@" >"$log/$name.log" 2>&1 || code=$?
  result=$(tail -n 3 "$log/$name.log" | grep -oE "$pattern" | tail -n 1) || :
  if [ $code != 0 ] || [ -z "$result" ]; then
    failures=$((failures + 1))
    result="**failed** $result"
    say "$name failed, see $log/$name.log"
  fi
}

# set_row KEY ROW: in the page's table, in the place of the row that begins so
set_row() {
  awk -v key="| $1 |" -v row="$2" 'index($0, key) == 1 { if (!done) print row; done = 1; next }
    /^\|/ { table = 1 } table && !/^\|/ && !done { print row; done = 1 } { print } END { if (!done) print row }' $page >$page.new
  mv $page.new $page
}

for minor; do
  version=
  for each in "${all[@]}"; do [ "$(minor_of "$each")" != "$minor" ] || version=$each; done
  [ -n "$version" ] || { say "no Kubernetes $minor in test/versions"; exit 2; }
  jobset=$(version_of sigs.k8s.io/jobset) sdk=$(version_of kubeflow) kueue=$(version_of sigs.k8s.io/kueue)
  unset COTRAIN_TEST_KUBERNETES
  [ "$version" = "${all[0]}" ] || export COTRAIN_TEST_KUBERNETES=$minor
  outcome "$minor-tests" '[0-9]+ passed, [0-9]+ failed' env COTRAIN_YES=1 ./dev test --apiserver
  tests=$result
  outcome "$minor-sdk" '[0-9]+ checks passed' test/sdk/run.sh
  jobs="$result (kubeflow $sdk)"
  outcome "$minor-kueue" '[0-9]+ specs passed, .*, [0-9]+ failed' test/suites/run.sh kueue
  set_row "$version" "| $version | $jobset | $tests | $jobs | $result (Kueue $kueue) | $(date -u +%Y-%m-%d) |"
done
[ $failures = 0 ]
