#!/usr/bin/env bash
# Objects for a page with very many jobs, as lines of a playground's snapshot.
#   test/browser/fleet.sh JOBS [NAMESPACES]    TrainJobs in all states with their JobSets, and three hostile ones
# A job has the fields of status that our operator writes; each fifth has none of them, as with another controller.
set -euo pipefail
jobs=$1 namespaces=${2:-20}
export TZ=UTC LC_ALL=C
now=$(printf '%(%s)T' -1)
# at VARIABLE SECONDS-AGO
at() { printf -v "$1" '%(%Y-%m-%dT%H:%M:%SZ)T' $((now - $2)); }
readonly states=(Running Running Running Running Complete Complete Complete Pending Starting Restarting Failed Blocked Suspended)
readonly failure='{"attempt":1,"time":"%s","pod":"%s-node-0-0-x7k2p","rank":0,"node":"gpu-node-17","container":"node","exitCode":137,"reason":"OOMKilled","message":"Killed: 81,920 MiB used of 81,920","pods":7}'
# No command is started for a job: 10,000 of them are written in two seconds.
condition() { printf -v conditions '{"type":"%s","status":"True","reason":"%s","message":"%s","lastTransitionTime":"%s"}' "$@"; }

# job NUMBER NAME NAMESPACE STATE NODES GPUS MESSAGE CREATED STARTED ENDED
job() {
  local n=$1 name=$2 ns=$3 state=$4 nodes=$5 gpus=$6 message=$7 created=$8 started=$9 ended=${10} ready=0 status='' conditions='' restarts=0
  local suspend=false runtime=torch-distributed failures
  [ $((n % 3)) != 0 ] || runtime=deepspeed
  case $state in
    Running) ready=$nodes ;;
    Starting) ready=$((nodes / 2)) ;;
    Restarting) restarts=$((1 + n % 4)) ready=$((nodes - 1)) ;;
    Complete) condition Complete AllJobsCompleted 'jobset completed successfully' "$ended" ;;
    Failed) restarts=3 && condition Failed FailedJobs 'jobset failed due to reaching max number of restarts' "$ended" ;;
    Suspended) suspend=true && condition Suspended Suspended 'TrainJob is suspended' "$created" ;;
  esac
  if [ $((n % 5)) != 4 ]; then
    status="\"state\":\"$state\",\"message\":\"$message\",\"nodes\":{\"desired\":$nodes,\"ready\":$ready},\"restarts\":$restarts"
    [ -z "$started" ] || status+=",\"startTime\":\"$started\""
    [ -z "$ended" ] || status+=",\"completionTime\":\"$ended\""
    # shellcheck disable=SC2059
    printf -v failures "$failure" "${ended:-$started}" "$name"
    [ "$state" != Failed ] && [ "$state" != Restarting ] || status+=",\"failures\":[$failures]"
    status+=,
  fi
  printf '{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"%s","namespace":"%s","uid":"job-%s","creationTimestamp":"%s","generation":1,"labels":{"kueue.x-k8s.io/queue-name":"%s"}},"spec":{"suspend":%s,"runtimeRef":{"apiGroup":"trainer.kubeflow.org","kind":"ClusterTrainingRuntime","name":"%s"},"trainer":{"numNodes":%s,"resourcesPerNode":{"limits":{"nvidia.com/gpu":"%s"}}}},"status":{%s"conditions":[%s]}}\n' \
    "$name" "$ns" "$n" "$created" "queue-$((n % 4))" "$suspend" "$runtime" "$nodes" "$gpus" "$status" "$conditions"
  printf '{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"%s","namespace":"%s","uid":"set-%s","creationTimestamp":"%s","generation":1,"ownerReferences":[{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"%s","uid":"job-%s","controller":true}]},"spec":{"suspend":%s,"replicatedJobs":[{"name":"node","replicas":1,"template":{"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},"spec":{"parallelism":%s,"completions":%s,"template":{"spec":{"containers":[{"name":"node","image":"train:1","resources":{"limits":{"nvidia.com/gpu":"%s"}}}]}}}}}]}}\n' \
    "$name" "$ns" "$n" "$created" "$name" "$n" "$suspend" "$nodes" "$nodes" "$gpus"
}

for ((i = 0; i < jobs; ++i)); do
  state=${states[i * 7 % ${#states[@]}]} nodes=$((1 << (i % 6))) gpus=$((i % 9 == 0 ? 0 : 8)) started='' ended='' message=''
  age=$((60 + i * 37 % 400000))
  at created $age
  case $state in
    Running | Restarting | Complete | Failed) at started $((age - age / 10)) ;;
  esac
  case $state in
    Complete | Failed) at ended $((age / 2)) ;;
    Blocked) message="0/$((12 + i % 9)) nodes are available: 12 Insufficient nvidia.com/gpu" ;;
    Pending) message="waits in queue queue-$((i % 4)), position $((i % 30))" ;;
    Starting) message="$((nodes / 2)) of $nodes nodes are ready; the rest pulls its image" ;;
    Restarting) message="rank 0 on gpu-node-17 was OOMKilled (exit code 137); attempt $((2 + i % 4))" ;;
  esac
  [ $state != Failed ] || message='rank 0 on gpu-node-17 was OOMKilled (exit code 137); reaching max number of restarts'
  kind=llama-finetune
  [ $((i % 2)) = 0 ] || kind=resnet-sweep
  printf -v name '%s-%05d' "$kind" "$i"
  job "$i" "$name" "team-$((i % namespaces))" "$state" "$nodes" "$gpus" "$message" "$created" "$started" "$ended"
done
# What a page that trusted it would run. An API server refuses such a name; the page must not rely on it.
at created 30
readonly markup="<img src=x onerror=document.documentElement.dataset.ran='yes'>"
job 1000000 "hostile-$markup" team-0 Running 1 1 "$markup<script>document.documentElement.dataset.ran='yes'</script>" "$created" "$created" ''
job 1000001 hostile-message team-0 Failed 2 1 "$markup \\u0001 \\u2028 </script><b>bold</b>" "$created" "$created" "$created"
job 1000002 hostile-state team-0 "Running onclick $markup" 2 1 "state that is no state" "$created" "$created" ''
