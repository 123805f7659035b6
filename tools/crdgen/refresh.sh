#!/usr/bin/env bash
# Makes src/crd/kubernetes.json.inc anew from the OpenAPI of a real kube-apiserver with JobSet's definition, then
# deploy/crds from it.   tools/crdgen/refresh.sh BUILD_DIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:?usage: tools/crdgen/refresh.sh BUILD_DIR, a directory that cmake has configured}
into=$(mktemp -d)
trap 'rm -rf "$into"' EXIT

cmake --build "$build" --target crdgen
bin=$(test/controlplane/build.sh base | tail -n 1)
crds=$(test/controlplane/build.sh path | tail -n 1)
fetch='set -e
get() { "$COTRAIN_TEST_KUBECTL" get --raw "/openapi/v3/$1"; }
get api/v1 >"$0/core.json"
get apis/batch/v1 >"$0/batch.json"
for try in $(seq 100); do  # published a moment after it is established
  if get apis/jobset.x-k8s.io/v1alpha2 >"$0/jobset.json" 2>/dev/null && grep -q JobSet "$0/jobset.json"; then exit 0; fi
  sleep 0.1
done
echo "refresh.sh: the API server does not publish JobSet" >&2
exit 1'
"$bin/controlplane" exec --crds "$crds/jobset.yaml" -- bash -c "$fetch" "$into"
crdgen=$(find "$build" -type f -name crdgen -perm -u+x -print -quit)
"$crdgen" --import "$into" >"$into/types"
cp "$into/types" src/crd/kubernetes.json.inc
cmake --build "$build" --target crdgen
"$crdgen" deploy/crds
