#!/usr/bin/env bash
# The Kubeflow SDK (PyPI: kubeflow) against a real API server with our operator and its webhooks; no node: the test writes
# the JobSets' status. Runtimes listed, jobs of all kinds of trainers made, awaited, refused, deleted.
#   test/sdk/run.sh [PROGRAM]      PROGRAM is cotrain or the image's manager (build/dev/cotrain)
# COTRAIN_TEST_KUBERNETES is an older API server.
# Python 3.10 or newer; the SDK is installed once, into the cache. Seconds when all is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tools/dev/versions.sh
readonly version=$(version_of kubeflow)
program=${1:-build/dev/cotrain}
cache=${COTRAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cotrain}
PATH=$PATH:/usr/local/go/bin:$cache/go/bin
[ -x "$program" ] || { echo "sdk: $program is missing: ./dev build dev, or name another" >&2; exit 2; }

# The SDK in an environment of its own, which is there whole or not at all.
environment=$cache/sdk-$version
if [ ! -e "$environment/complete" ]; then
  for python in python3 python3.13 python3.12 python3.11 python3.10 none; do
    "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && break
  done
  [ "$python" != none ] || { echo 'sdk: Python 3.10 or newer with venv is missing' >&2; exit 2; }
  echo "sdk: installing kubeflow $version, once" >&2
  rm -rf "$environment"
  "$python" -m venv "$environment"
  "$environment/bin/pip" install -q --disable-pip-version-check "kubeflow==$version"
  touch "$environment/complete"
fi
bin=$(test/controlplane/build.sh base | tail -n 1)
definitions=$(test/controlplane/build.sh path | tail -n 1)
exec "$bin/controlplane" exec --timeout 300 --crds "$definitions/jobset.yaml" --crds deploy/crds -- \
  test/sdk/scene.sh "$(realpath "$program")" "$environment/bin/python"
