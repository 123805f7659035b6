# What stands around jobs: the seeds' dialect, gangs, progress reports, the Kubeflow SDK. Sourced.

# resource NAME COUNT: what a device plugin would say of the node
resource() {
  kube patch node $node --subresource=status --type=merge -p "{\"status\":{\"capacity\":{\"$1\":\"$2\"},\"allocatable\":{\"$1\":\"$2\"}}}" >/dev/null
  until_true 60 "the node has $2 $1" node_has "$1" "$2"
}
node_has() { [ "$(kube get node $node -o "jsonpath={.status.allocatable['${1//./\\.}']}")" = "$2" ]; }

check_seeds() {
  local began seconds ranks title="the seeds' TrainJob, 4 nodes × 8 GPUs" words more
  if by_reference; then
    began=$(now)
    words='unknown field "spec.mlPolicy.torch.numProcPerNode"'
    refused "$words" seeds
    more='cannot unmarshal string into Go struct field Trainer.spec.trainer.numProcPerNode of type int32'
    refused "$more" seeds
    beside "$title" "both objects refused: \`$words\`; \`$more\`" "$(since "$began")" 0
    return
  fi
  ranks=$((4 * $(nproc)))
  "$node_bin/ctr" -a "$state/containerd.sock" -n k8s.io images tag $train_image docker.io/pytorch/pytorch:2.0.0 >/dev/null
  resource nvidia.com/gpu 32
  began=$(now)
  create seeds
  until_true 60 'seeds: the PodGroup' of_team get podgroups.scheduling.x-k8s.io pytorch-distributed
  equals "$(of_team get podgroups.scheduling.x-k8s.io pytorch-distributed -o 'jsonpath={.spec.minMember} {.spec.scheduleTimeoutSeconds} {.spec.minResources.nvidia\.com/gpu}')" '4 300 32' 'seeds: the PodGroup'
  await pytorch-distributed Complete 300
  seconds=$(since "$began")
  logs_of pytorch-distributed
  different $ranks "rank=[0-9]+/$ranks node=[0-3]\$" 'seeds: ranks'
  different 4 'node=[0-3]$' 'seeds: nodes'
  row "$title" 'torchrun' "unchanged YAML with args; $ranks ranks (one for each CPU, there being no real GPU) on 4 nodes; PodGroup of 4" "$seconds" "$(pods_had_by pytorch-distributed)"
  remove pytorch-distributed
}

start_gang_scheduler() {
  [ ! -e "$state/gang.yaml" ] || return 0
  cat >"$state/gang.yaml" <<TEXT
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: $KUBECONFIG}
profiles:
- schedulerName: gang
  plugins:
    queueSort: {disabled: [{name: "*"}], enabled: [{name: Coscheduling}]}
    multiPoint: {enabled: [{name: Coscheduling}]}
TEXT
  daemon gang "$COTRAIN_E2E_GANG/e2e-gang" --config "$state/gang.yaml" --secure-port=0
}
both_wait() { [ "$(of_team get pods -l jobset.sigs.k8s.io/jobset-name=gang -o 'jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].reason}')" = 'Unschedulable Unschedulable' ]; }

check_gang() {
  local began seconds title='plain, gang of 2'
  start_gang_scheduler
  resource cotrain.test/slot 3
  create gang
  until_true 90 'gang: both Pods wait, though there is room for one' both_wait
  equals "$(of_team get pods -l jobset.sigs.k8s.io/jobset-name=gang -o 'jsonpath={.items[*].spec.nodeName}')" '' 'gang: where the Pods are'
  began=$(now)
  resource cotrain.test/slot 4
  of_team run newcomer --image=$train_image --restart=Never -- true >/dev/null # the plugin looks again when a Pod comes
  await gang Complete 180
  seconds=$(since "$began")
  if by_reference; then
    equals "$(of_team get podgroups.scheduling.x-k8s.io gang -o name)" podgroup.scheduling.x-k8s.io/gang "gang under the reference: the PodGroup$otherwise"
    beside "$title" 'the same, but the PodGroup stays when the job has ended' "$seconds" 2
  else
    until_true 30 'gang: the PodGroup goes with the job' no_pod_group gang
    row "$title" "scheduler-plugins $(awk '/scheduler-plugins v/ { print $2 }' "$e2e/gang/go.mod")" 'neither Pod starts while only one has room; both do when there is room for both (seconds: since then)' "$seconds" 2
  fi
  remove gang
  of_team delete pod newcomer --wait=false >/dev/null
}
one_of_two_fits() { [[ "$(field torch '{.status.message}')" == 'gang torch-group-0 waits for room since 2'*': 1 of 2 Pods fit'* ]]; }

# The gangs of Kubernetes itself, whose gate is open in every run: torch waits for room, MPI's launcher comes with its nodes.
check_own_gang() {
  local began seconds own='s/^  mlPolicy:/  scheduling: {}\n&/'
  operator_gate TrainJobWorkloadAwareScheduling true
  resource cotrain.test/slot 3
  create torch -e "$own" -e 's#^    numNodes: 2#&\n    resourcesPerNode: {limits: {cotrain.test/slot: 2}}#'
  until_true 90 'own gang: it says that there is room for one' one_of_two_fits
  equals "$(of_team get pods -l jobset.sigs.k8s.io/jobset-name=torch -o 'jsonpath={.items[*].spec.nodeName}')" '' 'own gang: where the Pods are'
  began=$(now)
  resource cotrain.test/slot 4
  await torch Complete 180
  seconds=$(since "$began")
  logs_of torch
  different 4 'rank=[0-3]/4' 'own gang: ranks'
  row 'torch, gang of 2' "Kubernetes' own" 'neither Pod starts while only one has room, and the job says so; both train when there is room for both (seconds: since then)' "$seconds" 2
  remove torch
  began=$(now)
  # The launcher cannot wait for the nodes by dependsOn, since it comes with them.
  create mpi -e "$own" -e /dependsOn:/d \
    -e "s/command: \[mpirun\]/command: [sh, -c, 'for i in 0 1; do until ssh mpi-node-0-\$i.mpi true; do sleep 0.2; done; done; exec mpirun \"\$@\"', mpirun]/"
  until_true 30 'own gang: three come together' three_of_mpi
  await mpi Complete 180
  seconds=$(since "$began")
  logs_of mpi
  different 6 'rank=[0-5]/6' 'own gang: ranks of MPI'
  until_true 30 'own gang: nothing is left' nothing_of_own_gangs
  row 'MPI, gang of launcher + 2 nodes' "Kubernetes' own" '6 ranks on 3 hosts that came together; Workload and PodGroup go with the job' "$seconds" 3
  remove mpi
  operator_gate TrainJobWorkloadAwareScheduling false
}
three_of_mpi() { [ "$(of_team get podgroups.scheduling.k8s.io mpi-group-0 -o 'jsonpath={.spec.schedulingPolicy.gang.minCount}' 2>&1)" = 3 ]; }
nothing_of_own_gangs() { [ -z "$(of_team get workloads.scheduling.k8s.io,podgroups.scheduling.k8s.io -o name)" ]; }

no_pod_group() { ! of_team get podgroups.scheduling.x-k8s.io "$1" 2>"$state/gone" && grep -q NotFound "$state/gone"; }

# with_reports [OPTION…]: the release takes progress reports
with_reports() {
  release upgrade --reuse-values --set manager.config.featureGates.TrainJobStatus=true "$@"
  if by_reference && [ ! -e "$state/reference/reports" ]; then
    restart_reference
    touch "$state/reference/reports"
  fi
}
check_progress() {
  local began seconds
  with_reports
  began=$(now)
  create progress
  await progress Complete 180
  seconds=$(since "$began")
  logs_of progress
  lines 1 '^without a token: 403$' 'progress: without a token'
  lines 1 '^with it: 200$' 'progress: with the token'
  equals "$(field progress '{.status.trainerStatus.progressPercentage} {.status.trainerStatus.metrics[0].name}={.status.trainerStatus.metrics[0].value}')" '42 loss=0.25' 'progress: the status'
  row 'torch, progress reports' '' 'with the projected token 200 and 42 % in the status; with another 403' "$seconds" "$(pods_had_by progress)"
  remove progress
}

check_names() {
  local began
  began=$(now)
  sed "s#@operator@#$operator_reference#" "$e2e/jobs/names.yaml" | of_operator apply --server-side -f - >/dev/null
  until_true 60 'names: its Pod ends' pod_ended names $namespace
  of_operator logs names >"$state/log"
  equals "$(of_operator get pod names -o 'jsonpath={.status.phase}')" Succeeded "names: $(<"$state/log")"
  row 'cotrain doctor, by the cluster'"'"'s DNS' '' 'the static program finds the API server as `kubernetes.default`, and all in order' "$(since "$began")" 1
  of_operator delete -f "$e2e/jobs/names.yaml" --wait=false >/dev/null
}

check_sdk() {
  local began seconds found title='torch with progress reports, made by the SDK'
  with_reports --set rbac.readableClusterRuntimes=true
  # The reference's chart gives nobody rights.
  if by_reference; then kube create clusterrolebinding scientist --clusterrole=cluster-admin --serviceaccount=$team:scientist >/dev/null; fi
  began=$(now)
  create sdk
  until_true 300 'sdk: its Pod ends' pod_ended sdk
  seconds=$(since "$began")
  of_team logs sdk >"$state/log"
  equals "$(of_team get pod sdk -o 'jsonpath={.status.phase}')" Succeeded "sdk: $(tail -n 3 "$state/log")"
  different 1 'sdk=[0-9.]+ status=Complete nodes=2 listed=True progress=42' 'sdk: what it sees'
  different 1 'sdk rank=0/2' 'sdk: the log of the first node'
  different 1 'reported: 200' 'sdk: what the first node reported'
  found=$(grep -oE 'sdk=[0-9.]+' "$state/log")
  if by_reference; then
    beside "$title" 'the same, with rights given by hand: its chart gives users none' "$seconds" 2
    kube delete clusterrolebinding scientist >/dev/null
  else
    row "$title" "Kubeflow SDK ${found#sdk=}" 'runtime found; job made, which reports its progress; waited for, listed, its log and progress read, deleted' "$seconds" 2
  fi
  of_team delete pod sdk --wait=true --timeout=60s >/dev/null
}
# pod_ended NAME [NAMESPACE]
pod_ended() { case $(kube -n "${2:-$team}" get pod "$1" -o 'jsonpath={.status.phase}') in Succeeded | Failed) ;; *) false ;; esac; }
