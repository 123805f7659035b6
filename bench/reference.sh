#!/usr/bin/env bash
# Runs the controller that ours replaces as a controller of `cotrain bench`, its client unthrottled unless QPS says otherwise:
#   cotrain bench --controller cotrain --controller 'reference=bench/reference.sh {kubeconfig} {dir} {port}'
# test/controlplane/build.sh reference builds it from the Go module proxy, the first time for minutes: before the bench.
set -euo pipefail
kubeconfig=${1:?usage: reference.sh KUBECONFIG DIR PORT} dir=${2:?} port=${3:?}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$(test/controlplane/build.sh reference | tail -n 1)
# It does not start without webhooks and their certificate; nobody calls them here.
certs=$dir/k8s-webhook-server/serving-certs
mkdir -p "$certs"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$certs/tls.key" -out "$certs/tls.crt" -days 2 \
  -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
cat >"$dir/config.yaml" <<TEXT
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
certManagement: {enable: false}
webhook: {host: 127.0.0.1, port: $port}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
statusServer: {port: $((port == 65535 ? 1024 : port + 1))}
clientConnection: {qps: ${QPS:-100000}, burst: ${BURST:-100000}}
TEXT
export KUBECONFIG=$kubeconfig TMPDIR=$dir
exec "$bin/trainer-controller-manager" --config "$dir/config.yaml"
