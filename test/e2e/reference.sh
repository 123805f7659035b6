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

check_reference() {
  local began version hosts name
  start_reference
  version="Kubeflow Trainer $(awk '/kubeflow\/trainer\/v2 v/ { print $2; exit }' "$top/test/controlplane/go.mod")"
  for name in torch mpi; do
    began=$(now)
    create $name
    await $name Complete 240
    hosts=$(hosts_of $name)
    row "under the reference: $name" "$version" "Complete; its ranks ran on $hosts $([ "$hosts" = 1 ] && echo host || echo hosts)" "$(since "$began")" "$(pods_of $name)"
    remove $name
  done
  equals "$hosts" 1 "under the reference: hosts of Open MPI 5's ranks; if it has learned to tell Open MPI 5, say so in the documents"
}
