# What the parts of test/e2e share: names, messages, waiting. Sourced.

readonly node_address=10.88.0.1 pods=10.89.0.0/24 services=10.96.0.0/16 node=node1
readonly namespace=kubeflow-system team=team manager=kubeflow-trainer-controller-manager
readonly network=cotrain-e2e   # of the network namespace and of the cgroup
readonly train_image=cotrain.test/train:1

say() { printf 'e2e: %s\n' "$*" >&2; }
fail() {
  printf 'e2e: FAILED: %s\n' "$*" >&2
  exit 1
}

# until_true SECONDS WHAT COMMAND…: for what cannot be waited for otherwise
until_true() {
  local seconds=$1 what=$2 deadline
  shift 2
  deadline=$((SECONDS + seconds))
  until "$@" >"$state/said" 2>&1; do
    [ $SECONDS -lt $deadline ] || { tail -n 5 "$state/said" >&2; fail "$what: not after $seconds s"; }
    sleep 0.1
  done
}

go_program() {
  local each
  for each in "$(command -v go || true)" /usr/local/go/bin/go "${COTRAIN_CACHE:-$HOME/.cache/cotrain}/go/bin/go"; do
    [ ! -x "$each" ] || { echo "$each"; return; }
  done
  fail 'Go is missing, it builds what the tests run: run ./dev setup'
}

chart_of_kueue() { echo "$(go=$(go_program) module_files sigs.k8s.io/kueue "e2e/$1")/charts/kueue"; }

# since MICROSECONDS: seconds with one digit
now() { echo "${EPOCHREALTIME/[.,]/}"; }
since() { local tenths=$((($(now) - $1 + 50000) / 100000)); echo "$((tenths / 10)).$((tenths % 10))"; }
