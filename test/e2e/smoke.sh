# What every change has to pass: our chart and image, torch, Open MPI 5, suspend and resume. Sourced.

readonly chart=$top/deploy/charts/cotrain

# install_operator install|upgrade [OPTION…]
install_operator() {
  local repository=${operator_reference%:*}
  release "$@" --set runtimes.torchDistributed.enabled=true --set-string \
    "image.registry=${repository%%/*},image.repository=${repository#*/},image.tag=${operator_reference##*:}" --set-string \
    runtimes.installer.image.registry=cotrain.test,runtimes.installer.image.repository=kubectl,runtimes.installer.image.tag=1
  until_true 60 'the webhooks answer through the Service' webhooks_answer
}
readonly title_of_install='helm install, helm test'
check_install() {
  local began
  began=$(now)
  install_operator install --create-namespace
  helm test kubeflow-trainer -n $namespace --timeout 60s >"$state/said" 2>&1 || { cat "$state/said" >&2; fail 'helm test'; }
  equals "$(kube get clustertrainingruntimes -o name)" clustertrainingruntime.trainer.kubeflow.org/torch-distributed 'the runtimes that the chart installs'
  row "$title_of_install" "Cotrain $(sed -n 's/^appVersion: *//p' "$chart/Chart.yaml")" \
    'the operator runs as a Pod, its webhooks answer through its Service, a hook installs the runtime' "$(since "$began")" 1
}
# release install|upgrade OPTION…: of the chart of whoever is in charge; the reference's hooks fetch kubectl from afar
release() {
  local verb=$1 from=$chart
  shift
  if by_reference; then
    from=$state/reference/chart
    set -- --no-hooks "$@"
  fi
  helm "$verb" kubeflow-trainer "$from" -n $namespace --timeout 120s --wait "$@" >"$state/said" 2>&1 ||
    { cat "$state/said" >&2; fail "helm $verb"; }
}
helm() { HELM_CACHE_HOME=$state/helm HELM_CONFIG_HOME=$state/helm HELM_DATA_HOME=$state/helm "$helm_program" "$@"; }
of_operator() { kube -n $namespace "$@"; }

# A job on a runtime that does not exist is refused by nobody but our webhook.
webhooks_answer() {
  of_team create --dry-run=server -f - <<<'{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: probe}, spec: {runtimeRef: {name: torch-distributed}}}' || return
  ! of_team create --dry-run=server -f - 2>"$state/refusal" <<<'{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: probe}, spec: {runtimeRef: {name: none-such}}}' &&
    grep -q 'validator.trainjob.trainer.kubeflow.org' "$state/refusal"
}

check_torch() {
  local began
  began=$(now)
  create torch
  await torch Complete 180
  local seconds=$(since "$began")
  logs_of torch
  lines 4 'rank=[0-3]/4 local=[01] host=torch-node-0-[01] gradient=' 'torch: ranks'
  different 4 'rank=[0-3]/4' 'torch: ranks'
  different 2 'host=torch-node-0-[01]' 'torch: hosts'
  different 1 'gradient=[0-9.]+' 'torch: the gradient after all-reduce'
  local version
  version=$(grep -oE 'torch=[0-9.]+' "$state/log" | head -n 1)
  logs_of torch sidecar
  different 2 'sidecar rank=[01]/2 master=torch-node-0-0.torch:29500' 'torch: the sidecar'
  row 'torch, 2 nodes × 2 processes, sidecar' "PyTorch ${version#torch=}" 'gloo all-reduce equals the whole gradient on each of 4 ranks on 2 hosts; the sidecar has the same PET_ variables' "$seconds" "$(pods_had_by torch)"
  remove torch
}

check_mpi() {
  local began title='MPI, launcher + 2 nodes, 2 slots each'
  began=$(now)
  create mpi
  await mpi Complete 180
  local seconds=$(since "$began")
  logs_of mpi
  if by_reference; then
    on_launcher_alone mpi "$title" "$seconds"
    return
  fi
  different 6 'rank=[0-5]/6' 'mpi: ranks'
  different 1 'host=mpi-launcher-0-0$' 'mpi: the launcher trains, too'
  different 2 'host=mpi-node-0-[01]$' 'mpi: hosts'
  different 2 'local=[01]' 'mpi: slots'
  local version
  version=$(grep -oE '^5\.[0-9.]+' "$state/log" | head -n 1) || { cat "$state/log" >&2; fail 'mpi: not Open MPI 5'; }
  row "$title" "Open MPI $version" '6 ranks on 3 distinct hosts over ssh, 2 on each, the launcher among them' "$seconds" "$(pods_had_by mpi)"
  remove mpi
}

check_suspend() {
  local began
  rm -f "$state/shared/suspended"
  began=$(now)
  create suspend
  until_true 120 'suspended: training' stepped suspended 3
  of_team patch trainjob suspended --type=merge -p '{"spec":{"suspend":true}}' >/dev/null
  await suspended Suspended 60
  until_true 60 'suspended: no Pod is left' no_pods_of suspended
  local reached
  reached=$(<"$state/shared/suspended")
  of_team patch trainjob suspended --type=merge -p '{"spec":{"suspend":false}}' >/dev/null
  await suspended Complete 120
  local seconds=$(since "$began")
  logs_of suspended
  different 2 "rank=[01] began=$reached ended=$((reached + 20))" 'suspended: the second life'
  equals "$(field suspended '{.status.conditions[?(@.type=="Suspended")].status}')" False 'suspended: the condition'
  row 'torch, suspended and resumed' '' "no Pod while suspended; both ranks go on from the checkpoint's step" "$seconds" "$(pods_had_by suspended)"
  remove suspended
}
stepped() { [ -e "$state/shared/$1" ] && [ "$(<"$state/shared/$1")" -ge "$2" ]; }

check_metrics() {
  local began address
  began=$(now)
  address=$(of_operator get service $manager -o 'jsonpath={.spec.clusterIP}')
  curl -sfk "https://$address:8443/metrics" >"$state/log" || fail 'metrics: no answer through the Service'
  lines 1 '^cotrain_apply_total\{kind="JobSet",result="applied"\} [1-9]' 'metrics: applied JobSets'
  lines 1 '^cotrain_jobset_ready_seconds_count\{until="ready"\} [1-9]' 'metrics: JobSets that became ready'
  row "the operator's metrics" '' 'scraped over TLS through its Service: JobSets applied, and that they became ready' "$(since "$began")" 0
}
