#!/usr/bin/env bash
# The page in a headless Chromium, as the playground serves it: what a browser makes of it while things happen, not what
# we send. `./dev test --page` runs it, and fleet_page.sh.
#   test/browser/page.sh [PROGRAM] [FOLDER FOR PICTURES]    default: build/dev/cotrain, no pictures
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=$(realpath "${1:-build/dev/cotrain}") pictures=${2:-}
. test/browser/browser.sh
kubectl=$(test/controlplane/build.sh base | tail -n 1)/kubectl
export KUBECONFIG=$work/kubeconfig

run_program "$work/said" 'Ctrl-C ends it' "$program" playground --kubeconfig "$work/kubeconfig"
playground=$started
page=$(sed -n 's/^Its TrainJobs as a page: *//p' "$work/said")
open_browser
ask Page.navigate "{\"url\":\"$page\"}"
shows 'that there is no job yet' "!document.getElementById('empty').hidden && !document.querySelector('#rows .row:not([hidden])')"

# One job that stays, two that end well, and one that does not, of which somebody says what a page that trusted it would make bold.
sed -e 's/torch-two/torch-stays/' -e '/^  name: torch-stays/a\  annotations: {playground.cotrain/script: never}' examples/torch.yaml >"$work/stays.yaml"
"$kubectl" apply -f "$work/stays.yaml" >/dev/null
shows 'a job that runs, and its nodes' "cells('torch-stays').startsWith('Running') && cells('torch-stays').includes('2/2')"
"$kubectl" apply -f examples/torch.yaml -f examples/mpi.yaml >/dev/null
shows 'the Torch job, and that it is Complete' "cells('torch-two').startsWith('Complete')"
shows 'the MPI job, and that it is Complete' "cells('mpi-pi').startsWith('Complete')"
shows 'how many jobs are in a state' "[...document.querySelectorAll('#states button')].some(each => each.textContent === 'Complete 2')"
"$kubectl" create -f - >/dev/null <<'YAML'
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: broken, annotations: {playground.cotrain/script: "ready 0ms, run 0ms, fail"}}
spec: {runtimeRef: {name: torch, kind: TrainingRuntime}, trainer: {numNodes: 1}}
YAML
shows 'that a job failed, and why' "cells('broken').startsWith('Failed') && cells('broken').includes('jobset failed')"
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

act 'one job is opened' "row('broken').querySelector('a').click();"
shows 'one job' "text('#job h2') === 'broken' && text('#job .state') === 'Failed'"
shows 'markup of others as text' "text('#job').includes('<b onclick=') && !document.querySelector('#job b')"
shows 'conditions' "text('#job').includes('Failed') && [...document.querySelectorAll('#job h2')].some(each => each.textContent === 'Conditions')"
shows 'that there is a JobSet to be read' "[...document.querySelectorAll('summary')].some(each => each.textContent === 'JobSet broken')"
act 'the YAML is opened' "[...document.querySelectorAll('details')].find(each => each.dataset.which === 'jobset').open = true;"
shows 'the JobSet as YAML' "text('details[data-which=jobset] pre').includes('kind: JobSet') && !text('#job').includes('managedFields:')"
press Escape 27
shows 'the list again' "!document.getElementById('list').hidden && document.activeElement.id === 'grid'"

act 'a running job is opened' "location.hash = '#/job/default/torch-stays';"
shows 'its ranks' "document.querySelectorAll('.ranks .ready').length === 2"
act 'a rank is picked' "document.querySelector('.ranks .ready').click();"
shows 'the Pod of a rank' "text('.pod').includes('torch-stays-node-0-0') && text('.pod').includes('ready')"
shows 'host names' "text('.hosts').includes('torch-stays-node-0-1.torch-stays')"
pod=$("$kubectl" get pods -o name | grep torch-stays-node-0-1)
"$kubectl" patch "$pod" --subresource=status --type=merge -p '{"status":{"phase":"Failed","containerStatuses":[{"name":"node","image":"","imageID":"","ready":false,"restartCount":2,"state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}}' >/dev/null
"$kubectl" annotate trainjob torch-stays looked=again >/dev/null
act 'it is looked at again' "location.reload();"
shows 'the rank that failed' "document.querySelector('.ranks .failed')?.getAttribute('aria-label').includes('rank 1: failed') && document.querySelector('.ranks .failed').title.includes('OOMKilled')"
for scheme in light dark; do
  look_like 1280 800 $scheme
  picture "job-$scheme"
  accessible "one job, $scheme"
done
look_like 360 740 light
picture job-narrow
accessible 'one job on a phone'
look_like 1280 800 light
press Escape 27

"$kubectl" delete trainjob torch-stays >/dev/null
shows 'that a job has been deleted' "cells('torch-two') && !row('torch-stays')"
end_program "$playground" 'the playground'
shows 'that its server has ended' "text('#standing').includes('the server of this page is gone; waiting for it')"
shows 'what was last known' "cells('torch-two').startsWith('Complete')"
close_browser
