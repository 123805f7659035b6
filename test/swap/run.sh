#!/usr/bin/env bash
# The swap on a living cluster: jobs of every policy, running, suspended, failed and finished, made under the controller
# that ours replaces; that one stops, ours starts, with the same account and the same rights, while others write these
# jobs; and the way back.
#   test/swap/run.sh [PROGRAM]     PROGRAM is cotrain or the image's manager (build/dev/cotrain)
# etcd, kube-apiserver, Kubernetes' and JobSet's controllers and the reference are real, built once by test/controlplane
# (minutes the first time); no kubelet: what Pods come to is written into their status. About five minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH=$PATH:/usr/local/go/bin:${COTRAIN_CACHE:-$HOME/.cache/cotrain}/go/bin
. tools/dev/versions.sh
program=${1:-build/dev/cotrain}
[ -x "$program" ] || { echo "swap: $program is missing: ./dev build dev, or name another" >&2; exit 2; }
definitions=$(test/controlplane/build.sh path | tail -n 1)
bin=$(test/controlplane/build.sh base jobset reference | tail -n 1)
module=$(module_files github.com/kubeflow/trainer/v2)
mkdir -p build/swap
go build -o build/swap/mutator test/swap/mutator.go
exec "$bin/controlplane" exec --timeout 300 --audit --with kcm,jobset --arg kcm=--kube-api-qps=500 --arg kcm=--kube-api-burst=1000 \
  --crds "$definitions/trainer" --crds "$definitions/podgroup-scheduler-plugins.yaml" -- \
  test/swap/scene.sh "$(realpath "$program")" "$bin/trainer-controller-manager" "${module:?the module of the reference cannot be had}" \
  build/swap/mutator
