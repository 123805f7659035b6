#!/usr/bin/env bash
# How much memory the operator takes, on a real kube-apiserver and etcd: idle, with jobs, with finished jobs, among foreign
# Secrets, and at its start; under a limit of 16 MiB where cgroups can be made.
#   bench/memory.sh [PROGRAM] [JOBS] [SECRETS] [OLD]    default: build/image/manager-linux-amd64, 1000, 3000, 0
# OLD: TrainJobs that had finished, and whose JobSets had gone, before the operator came. With any the limit is 64 MiB,
# and the run ends with the active ones.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "${1:-}" != inside ]; then
  program=$(realpath "${1:-build/image/manager-linux-amd64}")
  [ -x "$program" ] || { echo "memory: $program is missing: ./dev image builds it" >&2; exit 2; }
  bin=$(test/controlplane/build.sh base | tail -n 1)
  crds=$(test/controlplane/build.sh path | tail -n 1)
  exec "$bin/controlplane" exec --crds "$crds" -- "$PWD/bench/memory.sh" inside "$program" "${2:-1000}" "${3:-3000}" "${4:-0}"
fi
program=$2 jobs=$3 secrets=$4 old=$5
limit=$((old > 0 ? 64 : 16)) # MiB
kubectl=$COTRAIN_TEST_KUBECTL
work=$(mktemp -d)
: >"$work/log"
pids=()
group=
finish() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
  [ -z "$group" ] || rmdir "$group" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

"$kubectl" proxy --port=0 >"$work/proxy" 2>&1 &
pids+=($!)
until grep -q 'Starting to serve' "$work/proxy"; do sleep 0.1; done
readonly api=http://$(sed -n 's/^Starting to serve on //p' "$work/proxy")
readonly trainer=$api/apis/trainer.kubeflow.org/v1alpha1/namespaces/memory job_sets=$api/apis/jobset.x-k8s.io/v1alpha2/namespaces/memory/jobsets

# all FROM TO METHOD URL TYPE BODY: many requests at once; % is the number
all() {
  local i url body
  for ((i = $1; i <= $2; ++i)); do
    url=${4//%/$i} body=${6//%/$i}
    printf 'url = "%s"\nrequest = "%s"\nheader = "content-type: %s"\ndata = "%s"\noutput = "/dev/null"\nnext\n' \
      "$url" "$3" "$5" "${body//\"/\\\"}"
  done | sed '$d' >"$work/requests"
  # Its words of progress cannot be told to stay away from the second request on.
  curl -sS --fail --parallel --parallel-max 16 -K "$work/requests" 2>"$work/curl" || { tail -n 3 "$work/curl" >&2; exit 1; }
}
make() { # FROM TO
  all "$1" "$2" POST "$trainer/trainjobs" application/json \
    '{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"job-%"},"spec":{"runtimeRef":{"kind":"TrainingRuntime","name":"torch"},"trainer":{"numNodes":4,"image":"registry.example.com/team/train:v1","command":["torchrun","train.py"]}}}'
}
count() { curl -sS "$1?limit=1" | grep -o '"remainingItemCount":[ 0-9]*' | tr -dc 0-9 || true; }
alive() { kill -0 "$operator" 2>/dev/null || { echo 'memory: the operator ended; at its limit the kernel kills it' >&2; exit 1; }; }
# until_told STATE: all jobs of this run say so
until_told() { until alive && [ "$("$kubectl" get trainjobs -n memory -o jsonpath='{range .items[*]}{.status.state}{"\n"}{end}' | grep -c "$1")" -ge "$jobs" ]; do sleep 0.5; done; }
# until_there URL N: as many objects are stored
until_there() { until alive && [ "$(($(count "$1") + 1))" -ge "$2" ]; do sleep 0.2; done; }

start() {
  local own
  own=/sys/fs/cgroup/memory$(sed -n 's/.*:memory://p' /proc/self/cgroup)
  if [ -z "$group" ] && mkdir "$own/cotrain-memory-$$" 2>/dev/null; then group=$own/cotrain-memory-$$; fi
  if [ -n "$group" ]; then echo $((limit << 20)) >"$group/memory.limit_in_bytes"; fi
  printf 'apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\nwebhook: {host: 127.0.0.1, port: '$((20000 + RANDOM % 10000))'}\nmetrics: {bindAddress: "0"}\nhealth: {healthProbeBindAddress: "0"}\ncertManagement: {enable: false}\n' >"$work/config"
  (
    [ -z "$group" ] || echo "$BASHPID" >"$group/cgroup.procs"
    exec "$program" operator --config="$work/config" --kubeconfig="$KUBECONFIG" 2>>"$work/log"
  ) &
  operator=$!
  pids+=("$operator")
  until [ "$(grep -c 'all TrainJobs reconciled' "$work/log")" -ge "$1" ]; do
    kill -0 "$operator" 2>/dev/null || { tail -n 3 "$work/log" >&2; exit 1; }
    sleep 0.1
  done
}

# Works no more, and had time to give back what it freed: it does so ten seconds after its last work.
quiet() {
  local before after=
  while before=$after && after=$(cut -d ' ' -f 14,15 "/proc/$operator/stat") && [ "$after" != "$before" ]; do sleep 11; done
}
value() { sed -nE "s/^$1:\s+([0-9]+) kB/\1/p" "/proc/$operator/status"; }
show() {
  quiet
  resident=$(value VmRSS) anonymous=$(value RssAnon)
  printf '%-44s %7s KiB resident, %6s anonymous, %6s KiB at most\n' "$1" "$resident" "$anonymous" "$(value VmHWM)"
}
# took N WHAT: CPU since the last time this was asked
took() {
  local user system
  read -r user system < <(cut -d ' ' -f 14,15 "/proc/$operator/stat")
  awk -v what="$2" -v n="$1" -v own=$((user - user_before)) -v kernel=$((system - system_before)) \
    'BEGIN { printf "%-44s %7.2f s of CPU for 1000, %.2f s of it in the kernel\n", "  " what, (own + kernel) * 10 / n, kernel * 10 / n }'
  user_before=$user system_before=$system
}
# each MORE N WHAT: bytes of one, anonymous ones: pages of the program come and go
each() { printf '%-44s %7s bytes\n' "  $3" "$((($1) * 1024 / $2))"; }

"$kubectl" apply --server-side -f deploy/crds >/dev/null
"$kubectl" wait --for=condition=Established crd --all --timeout=60s >/dev/null
"$kubectl" create namespace memory >/dev/null
"$kubectl" apply --server-side -n memory -f examples/torch.yaml >/dev/null
"$kubectl" delete trainjobs --all -n memory >/dev/null
if [ "$old" -gt 0 ]; then
  make $((jobs + 1)) $((jobs + old))
  all $((jobs + 1)) $((jobs + old)) PATCH "$trainer/trainjobs/job-%/status" application/merge-patch+json \
    '{"status":{"conditions":[{"type":"Complete","status":"True","reason":"AllJobsCompleted","message":"jobset completed successfully","lastTransitionTime":"2026-01-01T00:00:00Z"}],"jobsStatus":[{"name":"node","ready":0,"succeeded":4,"failed":0,"active":0,"suspended":0}]}}'
fi
start 1
if [ -n "$group" ]; then echo "limit: $limit MiB, by a cgroup"; else echo 'limit: none, for want of a memory cgroup that can be made'; fi
show 'idle, in sync'
idle=$anonymous user_before=0 system_before=0
took 1 'the start alone' >/dev/null
if [ "$old" -gt 0 ]; then printf '%-44s %7s %% of what stays\n' "  with $old old jobs; peak of the start" $(($(value VmHWM) * 100 / resident)); fi
make 1 "$jobs"
until_there "$job_sets" "$jobs"
# All Pods are ready: a job that waits for them is looked into, and remembered for it.
all 1 "$jobs" PATCH "$job_sets/job-%/status" application/merge-patch+json \
  '{"status":{"replicatedJobsStatus":[{"name":"node","ready":1,"succeeded":0,"failed":0,"active":1,"suspended":0}]}}'
until_told Running
show "$jobs active jobs"
took "$jobs" 'jobs until they are Running'
each "$anonymous - $idle" "$jobs" 'a job'
kill -TERM "$operator" && wait "$operator" || true
start 2
show "started again with $jobs active jobs"
peak=$(value VmHWM)
printf '%-44s %7s %% of what stays\n' '  peak of the start' "$((peak * 100 / resident))"
each "$anonymous - $idle" "$jobs" 'a job'
user_before=0 system_before=0
took "$jobs" 'jobs at a start'
[ "$old" -eq 0 ] || exit 0
all 1 "$jobs" PATCH "$job_sets/job-%/status" application/merge-patch+json \
  '{"status":{"conditions":[{"type":"Completed","status":"True","reason":"AllJobsCompleted","message":"jobset completed successfully","lastTransitionTime":"2026-01-01T00:00:00Z"}],"replicatedJobsStatus":[{"name":"node","ready":0,"succeeded":1,"failed":0,"active":0,"suspended":0}]}}'
until_told Complete
show "$jobs finished jobs"
took "$jobs" 'jobs until they are Complete'
kill -TERM "$operator" && wait "$operator" || true
start 3
show "started again with $jobs finished jobs"
finished=$anonymous
each "$anonymous - $idle" "$jobs" 'a finished job'
all 1 "$secrets" POST "$api/api/v1/namespaces/memory/secrets" application/json \
  '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"foreign-%"},"data":{"key":"'"$(head -c 1500 /dev/zero | base64 -w 0)"'"}}'
show "$secrets foreign Secrets made meanwhile"
kill -TERM "$operator" && wait "$operator" || true
start 4
show "started again among $secrets foreign Secrets"
each "$anonymous - $finished" "$secrets" 'a foreign Secret'
