#!/usr/bin/env bash
# Suites that others wrote for their own managers, with our program in place of these: the reference's controller and
# webhooks (test/integration of the trainer), and Kueue's suite of TrainJobs. Their sources come from the module proxy;
# operator.go, trainer.go and kueue.go here take the place of what starts a manager there.
#   test/suites/run.sh [controller|webhooks|kueue …]    all three; COTRAIN_PROGRAM is ours (build/dev/cotrain)
#   test/suites/run.sh apiserver    suites of others as they are, on `cotrain apiserver` in the place of kube-apiserver and
# etcd: a small one of ours (box), JobSet's (jobset, jobset-webhooks), the reference's (reference, reference-webhooks).
# COTRAIN_SUITE_SERVER=real runs them on kube-apiserver.
#   test/suites/run.sh walk [SEED [OPERATIONS]]    the same random requests to both, compared
# Each spec passes, or is named with its row of docs/differences.md in differences.txt (- is docs/apiserver.md) and fails.
# About 4 minutes, and as much once for compiling.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tools/dev/versions.sh
PATH=$PATH:/usr/local/go/bin:${COTRAIN_CACHE:-$HOME/.cache/cotrain}/go/bin
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto} CGO_ENABLED=0 GOFLAGS=
readonly top=$PWD work=$PWD/build/suites trainer=github.com/kubeflow/trainer/v2 kueue=sigs.k8s.io/kueue jobset=sigs.k8s.io/jobset
readonly on_ours='box jobset jobset-webhooks reference reference-webhooks'
say() { printf 'test/suites: %s\n' "$*" >&2; }
(($# > 0)) || set -- controller webhooks kueue
# shellcheck disable=SC2086
[ "$*" != apiserver ] || set -- $on_ours
walk=()
if [ "${1:-}" = walk ]; then walk=("${2:-1}" "${3:-1000}"); set --; fi
is_on_ours() { [[ " $on_ours " == *" $1 "* ]]; }
for suite; do
  case $suite in controller | webhooks | kueue) ;; *) is_on_ours "$suite" || { say "no suite '$suite'; there are controller, webhooks, kueue, $on_ours"; exit 2; } ;; esac
done
program=$(realpath "${COTRAIN_PROGRAM:-build/dev/cotrain}")
[ -x "$program" ] || { say "$program is missing: ./dev build dev, or name another"; exit 2; }

# source_of MODULE NAME: a copy that can be written to
source_of() {
  local from
  from=$(module_files "$1")
  [ -d "$from" ] || { say "$1 cannot be had from the module proxy"; exit 1; }
  rm -rf "${work:?}/$2"
  mkdir -p "$work"
  cp -r --no-preserve=mode "$from" "$work/$2"
  mkdir -p "$work/$2/test/integration/operator"
  cp test/suites/operator.go "$work/$2/test/integration/operator/"
}
prepare_trainer() {
  [ -z "${trainer_ready:-}" ] || return 0
  source_of $trainer trainer
  cp test/suites/trainer.go "$work/trainer/test/integration/framework/framework.go"
  # After a spec that differs the others still run.
  sed -i 's/ginkgo\.Ordered, func/ginkgo.Ordered, ginkgo.ContinueOnFailure, func/' "$work"/trainer/test/integration/*/*_test.go
  trainer_ready=1
}
prepare_kueue() {
  source_of $kueue kueue
  local crds=$work/kueue/config/components/crd
  mkdir -p "$work/kueue/dep-crds/"{jobset-operator,kf-trainer-crds} "$crds/_output"
  "$bin/kubectl" kustomize "$crds" >"$crds/_output/crds-with-webhooks.yaml"
  cp "$definitions/jobset.yaml" "$work/kueue/dep-crds/jobset-operator/"
  cp deploy/crds/trainer*.yaml "$work/kueue/dep-crds/kf-trainer-crds/"
  # Its runtimes have no container `node`, which the Trainer's own validation refuses, too.
  sed '/^---$/,$d' deploy/base/webhook/webhooks.yaml >"$work/mutating.yaml"
  cp test/suites/kueue.go "$work/kueue/test/integration/singlecluster/controller/jobs/trainjob/cotrain_test.go"
}

# The reference's suites with its own manager; its module lacks the definitions of others.
prepare_reference() {
  [ -z "${reference_ready:-}" ] || return 0
  source_of $trainer reference
  local others=$work/reference/manifests/external-crds
  mkdir -p "$others"/{scheduler-plugins,volcano,jobset-operator} "$work/reference/test/integration/box"
  cp "$definitions/podgroup-scheduler-plugins.yaml" "$others/scheduler-plugins/crd.yaml"
  cp test/suites/volcano.yaml "$others/volcano/scheduling.volcano.sh_podgroups.yaml"
  cp "$definitions/jobset.yaml" "$others/jobset-operator/"
  cp test/suites/box_test.go "$work/reference/test/integration/box/"
  sed -i 's/ginkgo\.Ordered, func/ginkgo.Ordered, ginkgo.ContinueOnFailure, func/' "$work"/reference/test/integration/*/*_test.go
  reference_ready=1
}
prepare_jobset() {
  [ -z "${jobset_ready:-}" ] || return 0
  source_of $jobset jobset
  jobset_ready=1
}

# specs SUITE DIRECTORY: runs it; its report has a line for each spec
specs() {
  local report=$work/$1.xml
  rm -f "$report"
  (cd "$2" && go test -count=1 -timeout 20m . -args -ginkgo.junit-report="$report" -ginkgo.timeout=20m) >"$work/$1.log" 2>&1 || true
  [ -s "$report" ] || { tail -n 30 "$work/$1.log" >&2; say "$1 did not run, see $work/$1.log"; exit 1; }
}
# spec_states SUITE: STATE NAME of each spec
spec_states() { sed -nE 's/^ *<testcase name="\[It\] ([^"]*)" .*status="([a-z]+)".*/\2 \1/p' "$work/$1.xml" | sed 's/&#34;/"/g; s/&#39;/'"'"'/g; s/&amp;/\&/g; s/&lt;/</g; s/&gt;/>/g'; }

# An API server on a machine with other work takes longer than the 20 seconds that they wait for it.
export KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=180s KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT=60s
export KUBEBUILDER_ASSETS PROJECT_DIR=$work/kueue/bin
export COTRAIN_SUITE_PROGRAM=$program
definitions=$(test/controlplane/build.sh path | tail -n 1)
bin=$(test/controlplane/build.sh base | tail -n 1)
assets=$bin
[ "${COTRAIN_SUITE_SERVER:-}" = real ] || { "$program" apiserver --envtest "$work/assets" >/dev/null; assets=$work/assets; }
export COTRAIN_SUITE_CRDS=$top/deploy/crds:$definitions/jobset.yaml:$definitions/podgroup-scheduler-plugins.yaml:$top/test/suites/volcano.yaml

if [ ${#walk[@]} -gt 0 ]; then
  prepare_reference
  mkdir -p "$work/reference/walk"
  cp test/suites/walk.go test/suites/widgets.yaml "$work/reference/walk/"
  cd "$work/reference/walk"
  exec go run walk.go "${walk[@]}" "$assets" "$bin"
fi
passed=0 different=0 failed=0
for suite; do
  export COTRAIN_SUITE_LOG=$work/$suite-operator.log COTRAIN_SUITE_WEBHOOKS=$top/deploy/base/webhook/webhooks.yaml
  KUBEBUILDER_ASSETS=$bin
  ! is_on_ours "$suite" || KUBEBUILDER_ASSETS=$assets
  case $suite in
    box) prepare_reference; directory=$work/reference/test/integration/box ;;
    reference) prepare_reference; directory=$work/reference/test/integration/controller ;;
    reference-webhooks) prepare_reference; directory=$work/reference/test/integration/webhooks ;;
    jobset) prepare_jobset; directory=$work/jobset/test/integration/controller ;;
    jobset-webhooks) prepare_jobset; directory=$work/jobset/test/integration/webhook ;;
    kueue)
      prepare_kueue
      directory=$work/kueue/test/integration/singlecluster/controller/jobs/trainjob COTRAIN_SUITE_WEBHOOKS=$work/mutating.yaml
      ;;
    *) prepare_trainer; directory=$work/trainer/test/integration/$suite ;;
  esac
  rm -f "$COTRAIN_SUITE_LOG"
  began=$SECONDS
  specs "$suite" "$directory"
  while read -r state name; do
    row=$(sed -nE "s/^$suite +([0-9]+|-) +(.*)/\1 \2/p" test/suites/differences.txt | while read -r row known; do [[ $name != *"$known" ]] || echo "$row"; done)
    case $state,$row in
      passed,) passed=$((passed + 1)) ;;
      failed,?*) different=$((different + 1)) ;;
      passed,?*) failed=$((failed + 1)); say "$suite: row $row is no difference any more: $name" ;;
      *) failed=$((failed + 1)); say "$suite: $state: $name" ;;
    esac
  done < <(spec_states "$suite")
  say "$suite: after $((SECONDS - began)) s"
done
printf 'test/suites: %s specs passed, %s differ as docs/differences.md says, %s failed\n' $passed $different $failed
[ $failed = 0 ] && [ $((passed + different)) != 0 ]
