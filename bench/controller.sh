#!/usr/bin/env bash
# Runs a controller of others as one of `cotrain bench`, its client unthrottled unless QPS says otherwise:
#   cotrain bench --controller cotrain --controller 'reference=bench/controller.sh reference {kubeconfig} {dir} {port}'
#   cotrain bench --scenario examples/bench/jobset.yaml --crds DIR --controller 'jobset=bench/controller.sh jobset {kubeconfig} {dir} {port}'
# `test/controlplane/build.sh reference jobset` builds them from the Go module proxy, the first time for minutes: before the
# bench.
set -euo pipefail
name=${1:?usage: controller.sh reference|jobset KUBECONFIG DIR PORT} kubeconfig=${2:?} dir=${3:?} port=${4:?}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# They do not start without webhooks and their certificate; nobody calls them here.
certs=$dir/k8s-webhook-server/serving-certs
mkdir -p "$certs"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$certs/tls.key" -out "$certs/tls.crt" -days 2 \
  -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
case $name in
  reference)
    program=trainer-controller-manager group=config.trainer.kubeflow.org/v1alpha1
    own="certManagement: {enable: false}
statusServer: {port: $((port == 65535 ? 1024 : port + 1))}" ;;
  jobset) program=jobset group=config.jobset.x-k8s.io/v1alpha1 own='internalCertManagement: {enable: false}' ;;
  *) echo "controller.sh: no controller '$name': reference, jobset" >&2; exit 2 ;;
esac
bin=$(test/controlplane/build.sh "$name" | tail -n 1)
cat >"$dir/config.yaml" <<TEXT
apiVersion: $group
kind: Configuration
leaderElection: {leaderElect: false}
$own
webhook: {host: 127.0.0.1, port: $port}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
clientConnection: {qps: ${QPS:-100000}, burst: ${BURST:-100000}}
TEXT
export KUBECONFIG=$kubeconfig TMPDIR=$dir
exec "$bin/$program" --config "$dir/config.yaml"
