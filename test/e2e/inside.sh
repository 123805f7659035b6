#!/usr/bin/env bash
# The part of run.sh that happens inside of the network namespace, with the API server running.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd) e2e=$top/test/e2e
. "$e2e/common.sh"
. "$e2e/host.sh"
. "$top/tools/dev/versions.sh"
. "$e2e/node.sh"
. "$e2e/jobs.sh"
. "$e2e/smoke.sh"
. "$e2e/full.sh"
. "$e2e/life.sh"
. "$e2e/around.sh"
. "$e2e/elastic.sh"
. "$e2e/queues.sh"
. "$e2e/reference.sh"
. "$e2e/upgrade.sh"
. "$e2e/image/oci.sh"
state=$COTRAIN_E2E_STATE kube_bin=$COTRAIN_E2E_KUBE node_bin=$COTRAIN_E2E_NODE images=$COTRAIN_E2E_IMAGES helm_program=$COTRAIN_E2E_HELM

# What there is to see after a failure.
explain() {
  local code=$? logs=$top/build/e2e
  [ $code != 0 ] || { hold; return 0; }
  rm -rf "$logs" && mkdir -p "$logs"
  kube get pods,trainjobs,jobsets,jobs -A -o wide >"$logs/objects" 2>&1 || true
  kube get events -A --sort-by=.lastTimestamp >"$logs/events" 2>&1 || true
  kube get pods,trainjobs,jobsets -A -o yaml >"$logs/objects.yaml" 2>&1 || true
  cp -r "$state/kept" "$logs/pods" 2>/dev/null || true
  of_operator logs -l app.kubernetes.io/component=manager --tail=-1 --prefix >"$logs/operator" 2>&1 || true
  cp "$state"/logs/*.log "$COTRAIN_TEST_DIR"/logs/*.log "$logs/" 2>/dev/null || true
  cat "$logs/objects" >&2
  say "objects, events and logs are in build/e2e"
  hold
  exit $code
}
hold() {
  [ -n "${COTRAIN_E2E_KEEP:-}" ] || return 0
  say "the cluster stays until Ctrl-C:"
  say "  nsenter --net=/run/netns/$network env KUBECONFIG=$KUBECONFIG $kube_bin/kubectl get pods -A"
  sleep infinity
}
trap explain EXIT

# run_check NAME[@reference]: those under the reference come last, and upgrade after them, which ends its time
run_check() {
  case $1 in
    *@reference)
      under=reference
      start_reference
      ;;
    upgrade) ;;
    *) [ ! -e "$state/reference/tried" ] || fail "$1: the reference is in charge by now" ;;
  esac
  "check_${1%@reference}"
}

main() {
  mkdir -p "$state/shared"
  start_node
  say "node ready after $SECONDS s"
  import "$images/kubectl.tar"
  operator_reference=$(tar -xOf "$COTRAIN_E2E_OPERATOR" --wildcards '*index.json' | grep -o '"io.containerd.image.name": *"[^"]*' | sed 's/.*"//')
  import "$COTRAIN_E2E_OPERATOR"
  check_install
  import "$images/train.tar"
  say "images imported after $SECONDS s"
  local each wanted=(torch mpi suspend metrics) failed=()
  if [ "$COTRAIN_E2E_EXTENT" != smoke ]; then
    import "$images/openmpi4.tar"
    import "$images/more.tar"
    create plain -e '/^---$/,$d' # the runtime alone, which is that of many jobs
    local both=(plain open_mpi hydra jax xgboost initializers flux seeds gang failing deadline overdue deleted pod_killed
      operator_killed progress sdk two_replicas kueue kueue_before)
    wanted+=(names elastic own_gang "${both[@]}")
    for each in torch mpi suspend "${both[@]}"; do wanted+=("$each@reference"); done
    wanted+=(upgrade)
  fi
  [ -z "$COTRAIN_E2E_ONLY" ] || wanted=(${COTRAIN_E2E_ONLY//,/ })
  for each in "${wanted[@]}"; do declare -F "check_${each%@reference}" >/dev/null || fail "there is no check '$each'"; done
  # One that fails does not hide the others; in the background, since errexit means nothing left of `||`.
  for each in "${wanted[@]}"; do
    (run_check "$each") &
    wait $! || failed+=("$each")
  done
  say "checked after $SECONDS s, $(cpu_of "$state") s of CPU"
  [ ${#failed[@]} = 0 ] || fail "${failed[*]}"
}
main
