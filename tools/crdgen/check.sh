#!/usr/bin/env bash
# Fails if deploy/crds is not what tools/crdgen makes.   tools/crdgen/check.sh CRDGEN, the built program
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
crdgen=${1:?usage: tools/crdgen/check.sh CRDGEN}
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

"$crdgen" "$fresh" >/dev/null
if ! diff -ru --exclude=README.md --exclude=Kustomization deploy/crds "$fresh"; then
    echo "deploy/crds is stale: run $crdgen deploy/crds and commit what changes" >&2
    exit 1
fi
