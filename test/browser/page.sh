#!/usr/bin/env bash
# The playground's page in a headless Chromium: what a browser makes of it while things happen, not what we send.
# `./dev test --page` runs it.
#   test/browser/page.sh [PROGRAM] [PICTURE.png]    default: build/dev/cotrain, no picture
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=$(realpath "${1:-build/dev/cotrain}") picture=${2:-}
die() {
  printf 'page: %s\n' "$*" >&2
  exit 1
}
chromium=
for each in chromium-headless-shell chromium chromium-browser google-chrome; do
  [ -n "$chromium" ] || chromium=$(command -v "$each" || true)
done
[ -n "$chromium" ] || die 'no Chromium here; Debian has one without windows as chromium-headless-shell'
kubectl=$(test/controlplane/build.sh base | tail -n 1)/kubectl
work=$(mktemp -d)
playground='' browsers=''
finish() {
  [ -z "$playground" ] || { kill "$playground" && wait "$playground"; } 2>/dev/null || true
  # The browser and all its helpers; one that nobody has waited for would count as running.
  local until=$((SECONDS + 10))
  while [ -n "$browsers" ] && kill -- "-$browsers" 2>/dev/null; do
    [ $SECONDS -lt $until ] || { kill -KILL -- "-$browsers" 2>/dev/null || true; break; }
    wait "$browsers" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap finish EXIT

"$program" playground --kubeconfig "$work/kubeconfig" >"$work/said" 2>&1 &
playground=$!
until grep -q 'Ctrl-C ends it' "$work/said"; do
  kill -0 "$playground" 2>/dev/null || { cat "$work/said" >&2; exit 1; }
  read -rt 0.05 <> <(:) || true
done
page=$(sed -n 's/^Its TrainJobs as a page: *//p' "$work/said")
export KUBECONFIG=$work/kubeconfig

# The browser's own protocol (DevTools) over descriptors 3 and 4: JSON, each message with a zero byte at its end.
coproc browser {
  exec setsid "$chromium" --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir="$work/profile" --window-size=1100,500 \
    --remote-debugging-pipe 3<&0 4>&1 </dev/null >"$work/log" 2>&1
}
browsers=$browser_PID
exec {to}>&"${browser[1]}" {from}<&"${browser[0]}"
asked=0 session='' answer=''
# ask METHOD [PARAMETERS]: its result is in $answer
ask() {
  local parameters=${2:-} line
  asked=$((asked + 1))
  printf '{"id":%s,"method":"%s","params":%s%s}\0' $asked "$1" "${parameters:-"{}"}" "${session:+,\"sessionId\":\"$session\"}" >&"$to"
  while IFS= read -r -d '' -t 60 -u "$from" line; do
    case $line in
      "{\"id\":$asked,\"error\""*) die "$1: $line" ;;
      "{\"id\":$asked,"*)
        answer=$line
        return
        ;;
    esac
  done
  tail -n 3 "$work/log" >&2
  die "the browser does not answer $1"
}
# part NAME: of the answer, a text without quotes in it
part() { sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" <<<"$answer"; }
# shows WHAT CONDITION: the page comes to be so, within 20 s; in JavaScript without double quotes. text() is what is written
# in a part of a job.
readonly helper="const text = (name, part) => [...document.querySelectorAll('article')]
  .find(each => each.dataset.name === name)?.querySelector(part)?.textContent ?? '';"
shows() {
  local script="new Promise(done => { const end = Date.now() + 20000; $helper
    const so = () => { try { return Boolean($2); } catch { return false; } };
    const look = () => { const is = so(); is || Date.now() > end ? done(is) : setTimeout(look, 20); }; look(); })"
  ask Runtime.evaluate "{\"awaitPromise\":true,\"returnByValue\":true,\"expression\":\"${script//$'\n'/ }\"}"
  case $answer in
    *'"value":true'*) echo "page: shows $1" ;;
    *)
      ask Runtime.evaluate '{"expression":"document.documentElement.outerHTML"}'
      printf '%s\n' "$answer" >&2
      die "does not show $1"
      ;;
  esac
}

ask Target.createTarget '{"url":"about:blank"}'
ask Target.attachToTarget "{\"targetId\":\"$(part targetId)\",\"flatten\":true}"
session=$(part sessionId)
ask Page.navigate "{\"url\":\"$page\"}"
shows 'that there is no job yet' "!document.getElementById('empty').hidden && document.getElementById('jobs').childElementCount === 0"

# One job that stays, two that end well, and one that does not, of which somebody says what a page that trusted it would make bold.
sed -e 's/torch-two/torch-stays/' -e '/^  name: torch-stays/a\  annotations: {playground.cotrain/script: never}' examples/torch.yaml >"$work/stays.yaml"
"$kubectl" apply -f "$work/stays.yaml" >/dev/null
shows 'a job' "text('default/torch-stays', 'h2')"
shows 'its running pods' "text('default/torch-stays', '.facts').includes('2 of 2 pods ready')"
"$kubectl" apply -f examples/torch.yaml -f examples/mpi.yaml >/dev/null
shows 'the Torch job, and that it is Complete' "text('default/torch-two', '.condition.True.Complete')"
shows 'the MPI job, and that it is Complete' "text('default/mpi-pi', '.condition.True.Complete')"
shows 'what its pods came to' "text('default/torch-two', '.parts').includes('succeeded')"
shows 'how long it took to the JobSet' "/JobSet after [0-9.]+ ms/.test(text('default/torch-two', '.facts'))"
shows 'events' "text('default/mpi-pi', '.events').includes('Normal JobSetCreated')"
"$kubectl" create -f - >/dev/null <<'YAML'
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: broken, annotations: {playground.cotrain/script: "ready 0ms, run 0ms, fail"}}
spec: {runtimeRef: {name: torch, kind: TrainingRuntime}, trainer: {numNodes: 1}}
YAML
shows 'why a job failed' "/^[A-Za-z]+: jobset failed/.test(text('default/broken', '.why'))"
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
shows 'markup of others as text' "text('default/broken', '.events').includes('<b onclick=') && !document.querySelector('.events b')"
shows 'its pods to those who hear it' "[...document.querySelectorAll('progress')].some(each => each.ariaLabel === 'jobs of node: 1 succeeded')"
if [ -n "$picture" ]; then
  ask Page.captureScreenshot
  part data | base64 -d >"$picture"
fi
"$kubectl" delete trainjob torch-stays >/dev/null
shows 'that a job has been deleted' "!text('default/torch-stays', 'h2')"
kill "$playground" && wait "$playground" || die 'the playground did not end well'
playground=
shows 'that the playground has ended' "document.getElementById('standing').textContent.includes('the playground is gone; waiting for it')"
shows 'what was last known' "text('default/torch-two', '.condition.True.Complete')"
session=''
ask Browser.close
