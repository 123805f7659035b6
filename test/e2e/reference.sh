# The same jobs under the controller that ours replaces: where it fails and ours does not. Sourced.

# Its webhooks are left out: they refuse and default, and these jobs need neither.
start_reference() {
  local certs=$state/reference/k8s-webhook-server/serving-certs
  helm uninstall kubeflow-trainer -n $namespace --wait --timeout 60s >"$state/said" 2>&1 || { cat "$state/said" >&2; fail 'helm uninstall'; }
  equals "$(kube get clustertrainingruntimes -o name | grep -c torch-distributed$ || true)" 0 'runtimes of the chart after helm uninstall'
  mkdir -p "$certs"
  identity reference /CN=localhost subjectAltName=IP:127.0.0.1
  cp "$state/pki/reference.crt" "$certs/tls.crt"
  cp "$state/pki/reference.key" "$certs/tls.key"
  cat >"$state/reference/config.yaml" <<TEXT
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
certManagement: {enable: false}
webhook: {host: 127.0.0.1, port: 29443}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
TEXT
  TMPDIR=$state/reference daemon reference "$kube_bin/trainer-controller-manager" --config "$state/reference/config.yaml"
}

# hosts_of NAME: how many different ones its ranks named
hosts_of() {
  logs_of "$1"
  { grep -oE 'host=[a-z0-9-]+' "$state/log" || true; } | sort -u | wc -l
}

# under_reference WHAT FRAMEWORK JOB HOSTS: Complete, its ranks on so many different hosts
under_reference() {
  local what=$1 framework=$2 name=$3 hosts=$4 began=$5 found
  await "$name" Complete 240
  found=$(hosts_of "$name")
  equals "$found" "$hosts" "under the reference: hosts of $name; if it does otherwise now, say so in the documents"
  row "under the reference: $what" "$framework" "Complete; its ranks ran on $hosts $([ "$hosts" = 1 ] && echo host || echo hosts)" "$(since "$began")" "$(pods_of "$name")"
  remove "$name"
}
refused_by_reference() { of_team get events.events.k8s.io -o 'jsonpath={range .items[*]}{.regarding.name} {.reason} {.note}{"\n"}{end}' | grep "^$1 TrainJobResourcesCreationFailed .*$2"; }

check_reference() {
  local began version
  start_reference
  version="Kubeflow Trainer $(awk '/kubeflow\/trainer\/v2 v/ { print $2; exit }' "$top/test/controlplane/go.mod")"
  began=$(now)
  create plain
  under_reference 'plain, 3 nodes' "$version" plain 3 "$began"
  began=$(now)
  create torch
  under_reference 'torch, 2 nodes × 2 processes, sidecar' "$version" torch 2 "$began"
  began=$(now)
  create initializers
  await initializers Complete 180
  row 'under the reference: plain, dataset and model initialisers' "$version" Complete "$(since "$began")" "$(pods_of initializers)"
  remove initializers
  began=$(now)
  create mpi -e 's#cotrain.test/train:1#cotrain.test/openmpi4:1#;s/name: mpi\(}*\)$/name: mpi4\1/'
  under_reference 'MPI, 3 nodes, Open MPI 4.1' "$version" mpi4 3 "$began"
  began=$(now)
  create mpi
  under_reference 'MPI, 3 nodes, Open MPI 5' "$version" mpi 1 "$began"
  began=$(now)
  create mpich
  until_true 60 'under the reference: MPICH is refused' refused_by_reference mpich 'MPI implementation'
  equals "$(pods_of mpich) $(field mpich '{.status.conditions}')" '0 ' 'under the reference: MPICH; if it does otherwise now, say so in the documents'
  row "under the reference: MPI, mpich's hostfile" "$version" 'no Pod, no condition: an Event says that the implementation is not supported' "$(since "$began")" 0
  of_team delete trainjob mpich --wait=false >/dev/null
}
