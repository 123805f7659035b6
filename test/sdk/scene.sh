#!/usr/bin/env bash
# The part of run.sh that needs an API server: our operator with its webhooks and runtimes, then check.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. test/deploy/common.sh
. test/deploy/outside.sh
program=$1 python=$2
work=$(mktemp -d)
operator=
finish() {
  [ -z "$operator" ] || { kill "$operator" 2>/dev/null || true; wait "$operator" 2>/dev/null || true; }
  rm -rf "$work"
}
trap finish EXIT

port=$(free_port)
serving_identity "$work"
cat >"$work/config.yaml" <<TEXT
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
webhook: {host: 127.0.0.1, port: $port}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
certManagement: {enable: false}
TEXT
TMPDIR=$work "$program" operator --config="$work/config.yaml" --kubeconfig="$KUBECONFIG" 2>"$work/log" &
operator=$!
until webhooks_answer; do
  kill -0 $operator 2>/dev/null || { tail -n 3 "$work/log" >&2; fail 'the operator ended'; }
  sleep 0.1
done
must 'webhooks' connect_webhooks
must 'namespaces' kube create namespace $namespace
must 'namespaces' kube create namespace team
must 'our runtimes' kube apply --server-side -k deploy/runtimes
must 'the public ConfigMap' kube create configmap kubeflow-trainer-public -n $namespace --from-literal=kubeflow_trainer_version=v2.3.0
"$python" test/sdk/check.py || { tail -n 3 "$work/log" >&2; fail 'check.py'; }
