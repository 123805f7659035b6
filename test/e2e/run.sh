#!/usr/bin/env bash
# Real jobs in real Pods: a cluster of one node on this machine, the operator in it from its image and chart.
#   run.sh OPERATOR.tar [OPTION…]   the operator's image as an OCI archive
#     --full   not only what every change has to pass (smoke.sh)
#     --only CHECK,…   these alone, of all that there are
#     --keep   leave the cluster running at the end or after a failure, until Ctrl-C
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd) e2e=$top/test/e2e
cache=${COTRAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cotrain}
. "$e2e/common.sh"
. "$e2e/host.sh"
. "$top/tools/dev/versions.sh"
operator=$(realpath "${1:?which image? run.sh OPERATOR.tar}")
shift
origin='the image that `./dev image` makes'
[ -z "${COTRAIN_E2E_OPERATOR:-}" ] || origin='an image of its own'
extent=smoke COTRAIN_E2E_KEEP='' COTRAIN_E2E_ONLY=''
while [ $# -gt 0 ]; do
  case $1 in
    --full) extent=full ;;
    --only)
      extent=some COTRAIN_E2E_ONLY=${2:?--only: which checks? their names are those of the functions check_* in test/e2e}
      shift
      ;;
    --keep) COTRAIN_E2E_KEEP=yes ;;
    *) fail "no option '$1'; there are --full, --only CHECK,… and --keep" ;;
  esac
  shift
done
# These need no more than the short run has.
few=yes
for each in ${COTRAIN_E2E_ONLY//,/ }; do
  case $each in elastic | torch | mpi | suspend | metrics) ;; *) few='' ;; esac
done
[ $extent != some ] || [ -z "$few" ] || extent=smoke
end() {
  local code=$?
  trap '' INT TERM HUP
  exec 8>&-
  wait "$guard" || true
  [ $code != 0 ] || say "all passed, and everything put back, after $SECONDS s"
  exit $code
}

# What the run has shown, for people to read; with what the reference does, where it was asked.
table() {
  local head='| job | framework | what was asserted | seconds from create to Complete | Pods |' line='|---|---|---|---|---|'
  if [ ! -e "$state/beside" ]; then
    printf '%s\n%s\n' "$head" "$line"
    cat "$state/rows"
    return
  fi
  printf '%s under Kubeflow Trainer %s |\n%s---|\n' "$head" "$(version_of github.com/kubeflow/trainer/v2)" "$line"
  awk -F '\t' 'FNR == NR { beside[$1] = $2; next }
    { split($0, cell, " [|] "); job = substr(cell[1], 3); print $0 " " (job in beside ? beside[job] : "–") " |" }' "$state/beside" "$state/rows"
}
page() {
  cat <<TEXT
# Proof in real Pods

What \`./dev e2e --full\` found on $(date -u +%Y-%m-%d), written by that run. The operator is a Pod, installed by its
own chart from $origin ($(digest_of_operator)). The cluster is Kubernetes $(version_of k8s.io/kubernetes controlplane) with
JobSet $(version_of sigs.k8s.io/jobset) on one node of $(nproc) processors.
\`test/e2e/README.md\` tells how. A job whose framework is not named runs a shell. The last column is from the same run: the
same job in the same cluster under the Kubeflow Trainer, installed by its own chart. "The same" means
that all assertions of the row hold there, too.

$(table)
TEXT
}
digest_of_operator() { tar -xOf "$operator" --wildcards '*index.json' | grep -o 'sha256:[0-9a-f]\{12\}' | head -n 1; }

# make_kueue VERSION: with its chart, which cannot be fetched from where the node is
make_kueue() {
  "$e2e/build.sh" "$1" >/dev/null
  [ -d "$(chart_of_kueue "$1")" ] || fail "the chart of $1 cannot be had"
}

# All of it is read before it runs: who edits it meanwhile disturbs nobody.
main() {
  [ "$(id -u)" = 0 ] || fail 'needs root: network namespaces, cgroups and mounts are what Pods are made of'

  mkdir -p "$cache"
  exec 9>"$cache/e2e.lock"
  flock -n 9 || { say 'another run is under way; waiting for it'; flock 9; }

  # Of a run that was killed together with its guard.
  if [ -e "$cache/e2e.state" ]; then
    say "putting back what $(<"$cache/e2e.state") left"
    put_back "$(<"$cache/e2e.state")" 9>&-
    rm "$cache/e2e.state"
  fi

  kube_bin=$("$top/test/controlplane/build.sh" base jobset $([ $extent = smoke ] || echo reference) | tail -n 1)
  definitions=$("$top/test/controlplane/build.sh" path | tail -n 1)
  helm=$("$top/test/deploy/build.sh" | tail -n 1)
  node_bin=$("$e2e/build.sh" node | tail -n 1)
  gang_bin= reference=
  if [ $extent != smoke ]; then
    gang_bin=$("$e2e/build.sh" gang | tail -n 1)
    reference=$(go=$(go_program) module_files github.com/kubeflow/trainer/v2)/charts/kubeflow-trainer
    [ -d "$reference" ] || fail 'the module of the reference cannot be had'
    case $extent,$COTRAIN_E2E_ONLY, in full,* | *,kueue,* | *,kueue@*) make_kueue kueue-0.19 ;; esac
    case $extent,$COTRAIN_E2E_ONLY, in full,* | *,kueue_before,* | *,kueue_before@*) make_kueue kueue-0.15 ;; esac
  fi
  images=$("$e2e/image/build.sh" $([ $extent = smoke ] && echo smoke || echo full) "$kube_bin/kubectl" | tail -n 1)
  say "everything is built after $SECONDS s"

  # In memory where there is plenty: images are unpacked a good deal faster, and gone at once.
  where=${TMPDIR:-/tmp} room=$((8 << 20))
  if [ "$(df --output=avail /dev/shm | tail -n 1)" -gt $room ] && [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $room ]; then
    where=/dev/shm
  fi
  state=$(mktemp -d "$where/cotrain-e2e.XXXXXX")
  echo "$state" >"$cache/e2e.state"
  # In a session of its own, where neither Ctrl-C nor the end of a terminal reaches it.
  exec 8> >(exec setsid "$e2e/guard.sh" "$state" "$cache")
  guard=$!
  trap end EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  prepare_host

  export COTRAIN_E2E_STATE=$state COTRAIN_E2E_KUBE=$kube_bin COTRAIN_E2E_NODE=$node_bin COTRAIN_E2E_IMAGES=$images \
    COTRAIN_E2E_HELM=$helm COTRAIN_E2E_OPERATOR=$operator COTRAIN_E2E_KEEP COTRAIN_E2E_ONLY COTRAIN_E2E_EXTENT=$extent COTRAIN_E2E_GANG=$gang_bin \
    COTRAIN_E2E_REFERENCE=$reference
  api=$state/api
  inside "$kube_bin/controlplane" exec --dir "$api" --address $node_address --with kcm,scheduler,jobset \
    --crds "$definitions/podgroup-scheduler-plugins.yaml" \
    --config 'jobset=featureGates: {ElasticJobSet: true}' \
    --arg apiserver=--runtime-config=scheduling.k8s.io/v1beta1=true --arg apiserver=--feature-gates=GenericWorkload=true \
    --arg kcm=--feature-gates=GenericWorkload=true --arg scheduler=--feature-gates=GenericWorkload=true \
    --arg apiserver=--endpoint-reconciler-type=lease --arg apiserver=--authorization-mode=Node \
    --arg apiserver=--enable-admission-plugins=NodeRestriction --arg apiserver=--kubelet-preferred-address-types=InternalIP \
    --arg apiserver=--kubelet-client-certificate="$api/pki/admin.crt" --arg apiserver=--kubelet-client-key="$api/pki/admin.key" \
    -- "$e2e/inside.sh" 8>&- 9>&- &
  code=0
  wait $! || code=$?
  if [ -e "$state/rows" ]; then
    mkdir -p "$top/build"
    table | tee "$top/build/e2e-table.md"
  fi
  [ $extent != full ] || [ $code != 0 ] || page >"$top/docs/proof.md"
  exit $code
}
main
