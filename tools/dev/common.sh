# What every part of ./dev uses: messages, caches, privileges. Sourced, not run.

readonly cache=${COTRAIN_CACHE:-$HOME/.cache/cotrain}
readonly jobs=$(nproc)
# A distribution's Go may be older than the Kubernetes sources want: it fetches the toolchain that go.mod names.
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
# One cache for every clone: paths below the tree count as relative.
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G} CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# What ccache wants to be told before it takes precompiled headers.
export CCACHE_SLOPPINESS=pch_defines,time_macros

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() {
  printf 'dev: %s\n' "$*" >&2
  exit 2
}
have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    die "needs root for '$*': run as root, or install sudo"
  fi
}

# Runs a command, its output into a file; prints the file only when the command fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 && return
  local code=$?
  cat "$log" >&2
  return $code
}
