# The controller that ours replaces, installed by its own chart. A check NAME is run under it as NAME@reference; where the
# reference does otherwise, the check asserts that instead. Sourced.

under=ours
by_reference() { [ "$under" = reference ]; }
readonly otherwise='; if the reference does otherwise now, say so in the documents'

# Our release goes with all that it knows: definitions are not to be mixed.
start_reference() {
  local dir=$state/reference began
  [ ! -e "$dir/runs" ] || return 0
  [ ! -e "$dir/tried" ] || fail 'the reference does not run, see above'
  mkdir -p "$dir"
  touch "$dir/tried"
  helm uninstall kubeflow-trainer -n $namespace --wait --timeout 60s >"$state/said" 2>&1 || { cat "$state/said" >&2; fail 'helm uninstall'; }
  equals "$(kube get clustertrainingruntimes -o name | grep -c torch-distributed$ || true)" 0 'runtimes of the chart after helm uninstall'
  kube delete -f "$top/deploy/crds" --timeout=60s >/dev/null
  import_program "$kube_bin/trainer-controller-manager" cotrain.test/reference:1
  # Its subcharts are not fetched.
  cp -r --no-preserve=mode "$COTRAIN_E2E_REFERENCE" "$dir/chart"
  sed -i '/^dependencies:/,/^$/d' "$dir/chart/Chart.yaml"
  began=$(now)
  release install --set runtimes.torchDistributed.enabled=true \
    --set-string image.registry=cotrain.test,image.repository=reference,image.tag=1
  # What its hook does with a kubectl that it fetches.
  kube get configmap kubeflow-trainer-runtimes-installer -n $namespace -o 'jsonpath={.data.runtimes\.yaml}' |
    kube apply --server-side -f - >/dev/null
  until_true 120 'under the reference: the webhooks answer through the Service' webhooks_answer
  beside "$title_of_install" 'runs as a Pod, its webhooks answer through its Service; there is no helm test, and what its hook for runtimes does with a kubectl that it fetches was done by hand' "$(since "$began")" 1
  create plain -e '/^---$/,$d'
  touch "$dir/runs"
}

# What reads its configuration only when it starts.
restart_reference() {
  of_operator rollout restart deployment/$manager >/dev/null
  of_operator rollout status deployment/$manager --timeout=120s >/dev/null
  until_true 60 'under the reference: the webhooks answer again' webhooks_answer
}

# on_launcher_alone NAME TITLE SECONDS: Open MPI 5 has not been told of the hosts, and nobody notices
on_launcher_alone() {
  local ranks
  ranks=$(grep -cE 'rank=[0-9]+/[0-9]+' "$state/log") || true
  different 1 'host=[a-z0-9-]+$' "$1 under the reference: hosts$otherwise"
  different 1 "host=$1-launcher-0-0\$" "$1 under the reference: the launcher$otherwise"
  beside "$2" "Complete, but all $ranks ranks ran on the launcher" "$3" "$(pods_had_by "$1")"
  remove "$1"
}
