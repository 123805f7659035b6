#!/usr/bin/env bash
# The part of run.sh that needs an API server; KUBECONFIG leads to one of its own, whose objects nobody misses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. test/deploy/common.sh
. test/deploy/outside.sh
. test/swap/jobs.sh
. test/swap/neighbours.sh
readonly ours=$1 reference=$2 module=$3 mutator=$4 team=team account=system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager
readonly policies='plain torch gang bare openmpi jax xgboost flux'
work=$(mktemp -d)
controller=
finish() {
  [ -z "$controller" ] || kill "$controller" 2>/dev/null || true
  send_away
  wait
  rm -rf "$work"
}
trap finish EXIT
say() { printf '%4s s  %s\n' $SECONDS "$*" >&2; }

# One account and one configuration for both, with the reference's rights and names, as an upgrade of the image alone has it.
prepare() {
  kube create namespace $namespace
  kube create namespace $team
  kube create serviceaccount kubeflow-trainer-controller-manager -n $namespace
  kube apply --server-side -f "$module/manifests/base/rbac/role.yaml"
  kube create clusterrolebinding kubeflow-trainer-controller-manager --clusterrole=kubeflow-trainer-controller-manager \
    --serviceaccount=$namespace:kubeflow-trainer-controller-manager
  cp "$KUBECONFIG" "$work/account"
  kube --kubeconfig "$work/account" config set-credentials account --token="$(kube create token kubeflow-trainer-controller-manager -n $namespace --duration=6h)"
  kube --kubeconfig "$work/account" config set-context --current --user=account --namespace=$namespace
  serving_identity "$work"
  port=$(free_port) metrics_port=$(free_port)
  sed -E -e '/^  webhook(ServiceName|SecretName):/d' -e 's/^(  healthProbeBindAddress:).*/\1 "0"/' \
    -e "s/^(  bindAddress:).*/\1 127.0.0.1:$metrics_port/" -e 's/^(  secureServing:).*/\1 false/' -e "s/^(  port:) 9443/\1 $port/" \
    -e 's/^(  host:).*/\1 127.0.0.1/' -e "s/^(  resourceNamespace:).*/\1 $namespace/" -e 's/^(  enable:) true/\1 false/' \
    "$module/manifests/base/manager/controller_manager_config.yaml" >"$work/config.yaml"
  kube label --overwrite namespace $team swap=true
  start_mutator
  kube apply --server-side -f test/swap/runtimes.yaml
}

# start WHAT PROGRAM: its webhooks answer, it has the Lease and has looked at every job when this returns.
start() {
  running=$1
  mark=$(audited)
  TMPDIR=$work KUBECONFIG=$work/account "$2" --config="$work/config.yaml" --zap-log-level=2 >"$work/$1.log" 2>&1 &
  controller=$!
  until_true "$1: its webhooks answer" serves
  connect_webhooks >/dev/null
  until_true "$1: it has looked at every job" has_looked
}
serves() { alive && webhooks_answer; }
alive() { kill -0 "$controller" 2>/dev/null || { tail -n 5 "$work/$running.log" >&2; fail "$running: it ended"; }; }
has_looked() {
  alive
  curl -sS "http://127.0.0.1:$metrics_port/metrics" >"$work/metrics" || return 1
  awk -v jobs="$(kube get trainjobs -n $team -o name | wc -l)" '
    /^controller_runtime_reconcile_total\{.*trainjob/ { looks += $2 }
    /^(workqueue_depth|controller_runtime_active_workers)\{/ { busy += $2 }
    END { exit !(looks >= jobs && busy == 0) }' "$work/metrics"
}
stop() {
  kill "$controller"
  wait "$controller" || { tail -n 5 "$work/$running.log" >&2; fail "$running: it did not end well"; }
  controller=
}

# What the controller asked for since it was started.
audited() { wc -l <"$COTRAIN_TEST_AUDIT"; }
asked() {
  tail -n "+$((mark + 1))" "$COTRAIN_TEST_AUDIT" | grep -F "\"username\":\"$account\"" | grep -F '"stage":"ResponseComplete"' |
    sed -E 's/.*"requestURI":"([^"?]*)[^"]*","verb":"([a-z]*)".*"code":([0-9]+).*/\3 \2 \1/'
}
# The status of a TrainJob is apart: ours has fields in it that the other has not.
writes() { asked | grep -E '^[0-9]+ (create|update|patch|delete) ' | grep -E "/namespaces/$team/" | grep -vE '/events|/trainjobs/[^/]+/status$' || true; }
written_twice() { asked | sed -nE 's|^200 patch .*/trainjobs/([^/]+)/status$|\1|p' | sort | uniq -d; }
# nothing_written FATES [KINDS]: running jobs of these fates, and what is theirs, are as they were before the swap
nothing_written() {
  local paths=${2:-[a-z]*} kinds=${2:+(JobSet|Job|Pod)} each
  if grep -E "/($paths)/[a-z]+-($1)(/|-mpi-|-runtime-|-flux-|\$)" "$work/wrote" >&2; then fail "$running: it wrote to running jobs"; fi
  for each in before picture; do grep -E "^${kinds:-[A-Za-z]+}/[a-z]+-($1)( |-mpi-|-runtime-|-flux-|-node-|-launcher-)" "$work/$each" >"$work/$each.running" || true; done
  [ -s "$work/before.running" ] || fail "no object of running jobs was looked at"
  diff "$work/before.running" "$work/picture.running" >&2 || fail "$running: running jobs are not as they were"
  passed
}

# What happened under the other is no news. JobSetKept is of suspended jobs.
nothing_told() {
  of_team get events.events.k8s.io -o 'jsonpath={range .items[?(@.regarding.kind=="TrainJob")]}{.reason} {.regarding.name} {.note}{"\n"}{end}' >"$work/events"
  if grep -vE '^(JobSetKept|TrainJobResourcesCreationFailed) ' "$work/events" >&2; then fail "$running: it told of what happened before"; fi
  passed
}

# Every object with its version; TrainJobs, which neighbours write, with what the reference knows of them; Jobs and Pods with
# their identity.
picture() {
  of_team get trainjobs -o "jsonpath={range .items[*]}TrainJob/{.metadata.name} {.metadata.uid} {.metadata.generation} $told{\"\\n\"}{end}"
  of_team get jobsets,configmaps,secrets,podgroups.scheduling.x-k8s.io \
    -o 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.resourceVersion}{"\n"}{end}'
  kube get jobs,pods -n $team -o 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid}{"\n"}{end}'
}
at_rest() { picture >"$work/picture" && sleep 1 && picture | diff -q "$work/picture" - ; }

# swap WHAT PROGRAM DEFINITIONS SUSPEND=FATE…: stops who runs and starts the other, while neighbours write these jobs
swap() {
  local what=$1 program=$2 definitions=$3 wrote
  shift 3
  until_true "$running: all is at rest" at_rest
  cp "$work/picture" "$work/before"
  invite "$@"
  stop
  kube apply --server-side --force-conflicts -f "$definitions" >/dev/null
  say "$what takes its place"
  start "$what" "$program"
  have_all_written
  until_true "$what: all is at rest" at_rest
  writes >"$work/wrote"
  wrote=$(wc -l <"$work/wrote")
  written_twice >"$work/twice"
  [ ! -s "$work/twice" ] || { cat "$work/twice" >&2; fail "$what: it wrote a job's status more than once"; }
  say "$what looked at $(of_team get trainjobs -o name | wc -l) jobs, wrote $wrote objects of theirs, $(asked | grep -cE '/trainjobs/[^/]+/status$' || true) statuses"
}

. test/swap/acts.sh
