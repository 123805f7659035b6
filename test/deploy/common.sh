# What the parts of test/deploy share. Sourced; $work is a scratch directory.

chart=deploy/charts/cotrain
namespace=kubeflow-system
checks=0

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
passed() { checks=$((checks + 1)); }

# must WHAT COMMAND…: succeeds, or its words are shown
must() {
  local what=$1
  shift
  "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "$what"; }
  passed
}

# must_refuse WHAT TEXT COMMAND…: fails and says the text
must_refuse() {
  local what=$1 text=$2
  shift 2
  ! "$@" >"$work/said" 2>&1 || fail "$what: was taken"
  grep -qF -- "$text" "$work/said" || { cat "$work/said" >&2; fail "$what: does not say '$text'"; }
  passed
}

# must_not WHAT COMMAND…: fails, with whatever words
must_not() {
  local what=$1
  shift
  ! "$@" >"$work/said" 2>&1 || fail "$what: was allowed"
  passed
}

# quiet WHAT COMMAND…: succeeds without a warning of the API server
quiet() {
  must "$@"
  ! grep -i '^warning' "$work/said" >&2 || fail "$1: warns"
}

render_chart() { "$helm" template kubeflow-trainer "$chart" -n $namespace "$@" 2>"$work/helm.err" || { cat "$work/helm.err" >&2; return 1; }; }
