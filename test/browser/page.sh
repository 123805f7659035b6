#!/usr/bin/env bash
# The playground's page in a headless Chromium: what a browser makes of it, not what we send. `./dev test --page` runs it; a
# browser is much to ask of a machine that only wants to run the other tests.
#   test/browser/page.sh [PROGRAM] [PICTURE.png]    default: build/release/cotrain, no picture
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=$(realpath "${1:-build/release/cotrain}") picture=${2:-}
browser=$(command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo 'page: no Chromium here; Debian has it as the package chromium-headless-shell' >&2; exit 1; }
kubectl=$(test/controlplane/build.sh base | tail -n 1)/kubectl
work=$(mktemp -d)
playground=
finish() {
  [ -z "$playground" ] || { kill "$playground" 2>/dev/null && wait "$playground" 2>/dev/null || true; }
  rm -rf "$work"
}
trap finish EXIT

make_jobs() {
  "$kubectl" apply -f examples/torch.yaml -f examples/mpi.yaml >/dev/null
  "$kubectl" create -f - >/dev/null <<'YAML'
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: broken, annotations: {playground.cotrain/script: "ready 0ms, run 0ms, fail"}}
spec: {runtimeRef: {name: torch, kind: TrainingRuntime}, trainer: {numNodes: 1}}
YAML
  # What a page that trusted it would make bold.
  "$kubectl" create -f - >/dev/null <<'YAML'
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: hostile, namespace: default}
eventTime: "2026-01-02T03:04:05.000000Z"
action: Testing
reason: Hostile
type: Normal
note: <b onclick="alert(1)">bold</b>
reportingController: test
reportingInstance: test
regarding: {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: broken, namespace: default}
YAML
  "$kubectl" wait --for=condition=Complete trainjob/torch-two trainjob/mpi-pi --timeout=30s >/dev/null
  "$kubectl" wait --for=condition=Failed trainjob/broken --timeout=30s >/dev/null
}

# browse SECONDS: the page's state is a stream that never ends, and the browser waits for its end: it gets so long, then the
# playground ends. What was shown has to stay, and a word about that has to come.
browse() {
  local options browsing page
  rm -rf "$work/browser"
  "$program" playground --kubeconfig "$work/kubeconfig" >"$work/said" 2>&1 &
  playground=$!
  until grep -q 'Ctrl-C ends it' "$work/said"; do
    kill -0 "$playground" 2>/dev/null || { cat "$work/said" >&2; exit 1; }
    read -rt 0.05 <> <(:) || true
  done
  page=$(sed -n 's/^Its TrainJobs as a page: *//p' "$work/said")
  KUBECONFIG=$work/kubeconfig make_jobs
  options=(--headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --virtual-time-budget=2000)
  if [ -n "$picture" ]; then options+=(--hide-scrollbars --window-size=1100,500 --screenshot="$picture"); fi
  timeout $((120 + $1)) "$browser" "${options[@]}" --dump-dom "$page" >"$work/dom" 2>"$work/log" &
  browsing=$!
  read -rt "$1" <> <(:) || true
  kill "$playground" && wait "$playground" || true
  playground=
  wait "$browsing" || { tail -n 3 "$work/log" >&2; exit 1; }
}
# A machine that is busy takes longer to draw anything.
for patience in 5 60; do
  browse $patience
  ! grep -q 'data-name="default/broken"' "$work/dom" || break
done
bad=0
shows() {
  if grep -qE "$1" "$work/dom"; then echo "page: shows $2"; else echo "page: does not show $2 ($1)" >&2; bad=1; fi
}
shows 'data-name="default/torch-two"' 'the Torch job'
shows 'data-name="default/mpi-pi"' 'the MPI job'
shows 'class="condition True Complete"' 'that they are Complete'
shows '<progress[^>]*max="1"' 'their pods'
shows '<progress[^>]*aria-label="jobs of node: 1 succeeded"' 'their pods to those who hear it'
shows '<p class="why">[A-Za-z]+: jobset failed' 'why a job failed'
shows '&lt;b onclick="alert\(1\)"&gt;bold&lt;/b&gt;' 'markup of others as text'
shows 'JobSet after [0-9.]+ ms' 'how long it took to the JobSet'
shows 'Normal JobSetCreated' 'events'
shows 'the playground is gone; waiting for it' 'that the playground has ended'
exit $bad
