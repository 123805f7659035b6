#!/usr/bin/env bash
# How long reviews take on the webhook port: the operator on a real kube-apiserver, asked by h2load at a fixed rate.
#   bench/reviews.sh [PROGRAM] [RATE] [SECONDS] [RUNS]    default: build/release/cotrain, 2000 a second, 10, 3
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "${1:-}" != inside ]; then
  program=$(realpath "${1:-build/release/cotrain}")
  [ -x "$program" ] || { echo "reviews: $program is missing: ./dev build builds it" >&2; exit 2; }
  bin=$(test/controlplane/build.sh base | tail -n 1)
  crds=$(test/controlplane/build.sh path | tail -n 1)
  exec "$bin/controlplane" exec --crds "$crds" -- "$PWD/bench/reviews.sh" inside "$program" "${2:-2000}" "${3:-10}" "${4:-3}"
fi
program=$2 rate=$3 seconds=$4 runs=$5
readonly kubectl=$COTRAIN_TEST_KUBECTL port=$((20000 + RANDOM % 10000))
work=$(mktemp -d)
operator= tries=0
finish() {
  [ -z "$operator" ] || { kill "$operator" 2>/dev/null && wait "$operator" 2>/dev/null || true; }
  rm -rf "$work"
}
trap finish EXIT

"$kubectl" apply --server-side -f deploy/crds >/dev/null
"$kubectl" wait --for=condition=Established crd --all --timeout=60s >/dev/null
for namespace in kubeflow-system reviews; do "$kubectl" create namespace $namespace >/dev/null; done
"$kubectl" apply --server-side -n reviews -f examples/torch.yaml >/dev/null
# The job as the API server shows it to a webhook.
"$kubectl" get trainjobs -n reviews -o json |
  sed -n '/"items": \[/,/^    \],*$/p' | sed '1d;$d' >"$work/job"
{
  printf '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",'
  printf '"kind":{"group":"trainer.kubeflow.org","version":"v1alpha1","kind":"TrainJob"},'
  printf '"resource":{"group":"trainer.kubeflow.org","version":"v1alpha1","resource":"trainjobs"},'
  printf '"namespace":"reviews","name":"job","operation":"CREATE","userInfo":{"username":"someone"},"object":'
  cat "$work/job"
  printf '}}'
} >"$work/review"
printf 'apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\nwebhook: {host: 127.0.0.1, port: %s}\nmetrics: {bindAddress: "0"}\nhealth: {healthProbeBindAddress: "0"}\n' $port >"$work/config"
"$program" operator --config="$work/config" --kubeconfig="$KUBECONFIG" 2>"$work/log" &
operator=$!
readonly url=https://127.0.0.1:$port/validate-trainer-kubeflow-org-v1alpha1-trainjob
until curl -sSk -H 'content-type: application/json' --data-binary "@$work/review" "$url" 2>&1 | tee "$work/answer" | grep -q '"allowed":true'; do
  kill -0 "$operator" 2>/dev/null || { tail -n 3 "$work/log" "$work/answer" >&2; exit 1; }
  [ $((++tries)) -le 300 ] || { echo "reviews: no answer to a review in 30 s:" >&2; tail -n 3 "$work/log" "$work/answer" >&2; exit 1; }
  sleep 0.1
done

# asked NAME OPTIONS...: 20 connections, each at its share of the rate
asked() {
  local name=$1 before after
  shift
  rm -f "$work/times"  # it would be appended to
  before=$(awk '{ print $14 + $15 }' "/proc/$operator/stat")
  h2load "$@" -c 20 -m 1 -t 1 --rps $((rate / 20)) -D "$seconds" -H 'content-type: application/json' -d "$work/review" --log-file="$work/times" "$url" >"$work/said"
  after=$(awk '{ print $14 + $15 }' "/proc/$operator/stat")
  sort -n -k 3 "$work/times" | awk -v name="$name" -v ticks=$((after - before)) '
    $2 != 200 { ++failed }
    { took[NR] = $3 }
    END {
      printf "%-9s %7d reviews, %d not answered with 200: p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, most %.2f ms; %.0f us of CPU each\n",
        name, NR, failed, took[int(NR * .5)] / 1e3, took[int(NR * .99)] / 1e3, took[int(NR * .999)] / 1e3, took[NR] / 1e3, ticks * 1e4 / NR }'
}
printf '%s reviews of %s bytes a second for %s s (goal: p99 <= 5 ms, no failure)\n' "$rate" "$(stat -c %s "$work/review")" "$seconds"
for _ in $(seq "$runs"); do
  asked HTTP/2
  asked HTTP/1.1 --h1
done
