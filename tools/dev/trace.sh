#!/usr/bin/env bash
# Which of our functions one event passes, and in how many files: traced in an operator at work on the embedded API server,
# without inlining. Prints functions that are longer than one line in the order in which they are entered first, then the
# figures: of all, and of those of ten lines and more. Accessors of one line are no place where a reader stops.
# Usage: trace.sh [created|status|unchanged]
#   created    a new TrainJob: plan, snapshot, JobSet, status, with all answers
#   status     (default) the JobSet reports that a Job is not ready any more: until the bytes of the status are sent
#   unchanged  a TrainJob gets an annotation: nothing follows
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
top=$PWD
for part in common libraries setup build; do . "tools/dev/$part.sh"; done
trace_proofs='
gdb gdb
curl curl'
need build trace
# Without inlining, so that each function that is entered is seen.
build_into build/trace dev -DCOTRAIN_TESTS=OFF '-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1 -fno-inline' cotrain >&2
program=$top/build/trace/cotrain
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null; rm -rf "$work"' EXIT

# until_true COMMAND…: waits until it is, three minutes at most
until_true() {
  for _ in $(seq 1800); do "$@" && return; sleep 0.1; done
  die "trace: '$*' did not come true; see $work"
}
"$program" playground --no-operator --no-page --kubeconfig "$work/kubeconfig" --script 'start 1ms, ready 1ms, never' >"$work/server.log" 2>&1 &
until_true test -s "$work/kubeconfig"
server=$(sed -n 's/^ *server: //p' "$work/kubeconfig")
token=$(sed -nE 's/.*token: ([^}]*).*/\1/p' "$work/kubeconfig")
sed -n 's/.*certificate-authority-data: //p' "$work/kubeconfig" | base64 -d >"$work/ca.crt"
api() { curl -sS --fail-with-body --cacert "$work/ca.crt" -H "Authorization: Bearer $token" "${@:2}" "$server$1"; }
types=/apis/trainer.kubeflow.org/v1alpha1/namespaces/default
sets=/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets
apply() { api "$1?fieldManager=trace&force=true" -X PATCH -H 'Content-Type: application/apply-patch+yaml' --data-binary @- >>"$work/api.log"; }
merge() { api "$1" -X PATCH -H 'Content-Type: application/merge-patch+json' -d "$2" >>"$work/api.log"; }
# Both documents of the example; the job under another name.
document() { awk -v want="$1" '/^---/ { n++; next } n == want' examples/torch.yaml | sed "s/torch-two/$2/"; }

cat >"$work/config.yaml" <<'TEXT'
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
certManagement: {enable: false}
webhook: {enabled: false}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
TEXT
"$program" operator --kubeconfig "$work/kubeconfig" --config "$work/config.yaml" >"$work/operator.log" 2>&1 &
operator=$!
document 0 torch | apply "$types/trainingruntimes/torch"
document 1 first | apply "$types/trainjobs/first"
is_reported() { api "$types/trainjobs/$1" | grep -q '"ready":1'; }
until_true is_reported first

# What is awaited afterwards, and the event itself.
end=
case ${1:-status} in
  created)
    event() { document 1 second | sed 's/^metadata:/&\n  annotations: {playground.cotrain\/script: "start 1h"}/' | apply "$types/trainjobs/second"; }
    is_over() { api "$sets/second" >/dev/null 2>&1; }
    ;;
  status)
    end=net::h2::session_core::callback_table::on_begin_headers  # of the answer
    event() { api "$sets/first/status" | sed 's/"ready":1/"ready":0/' | api "$sets/first/status" -X PUT -H 'Content-Type: application/json' --data-binary @- >>"$work/api.log"; }
    is_over() { api "$types/trainjobs/first" | grep -q '"ready":0'; }
    ;;
  unchanged)
    event() { merge "$types/trainjobs/first" '{"metadata":{"annotations":{"example.com/note":"new"}}}'; }
    is_over() { true; }
    ;;
  *) die "trace: created, status or unchanged" ;;
esac
TRACE_PROGRAM=$program TRACE_SOURCES=$top/src TRACE_PID=$operator gdb -q -nx -batch -x tools/dev/trace.py >"$work/trace" 2>"$work/gdb.log" &
tracer=$!
until_true grep -q '^attached$' "$work/trace"
sleep 2  # for what was due meanwhile
kill -USR1 "$operator"
until_true grep -q '^ready$' "$work/trace"
event
until_true is_over
sleep 2  # nothing tells that nothing follows
kill -USR1 "$operator"
wait "$tracer" || die "trace: $(cat "$work/gdb.log")"
awk -v end="$end" '
  function count(i) { functions[i]++; files[i] += !known[i, $3]++; changes[i] += $3 != last[i]; last[i] = $3 }
  $1 != "entered" || over { next }
  end != "" && $4 == end { over = 1; next }
  seen[$3, $4]++ { next }
  $2 <= 1 { short++; next }
  { printf "%-40s %s\n", $3, $4; count(1); split($3, part, "/"); rooms[part[1]]++ }
  $2 >= 10 { count(2) }
  END {
    print ""
    for (room in rooms) printf "%-10s %4d functions\n", room, rooms[room] | "sort"
    close("sort")
    printf "all            %4d functions %4d files %4d changes of file, besides %d of one line\n", functions[1], files[1], changes[1] - 1, short
    printf "10 lines, more %4d functions %4d files %4d changes of file\n", functions[2], files[2], changes[2] - 1
  }' "$work/trace"
