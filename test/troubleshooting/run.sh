#!/usr/bin/env bash
# Plays what goes wrong with TrainJobs and writes what a user sees of it into docs/troubleshooting.md; see README.md.
#   test/troubleshooting/run.sh [--check] [--only PATTERN] [COTRAIN]   COTRAIN is the program (build/dev/cotrain)
#   test/troubleshooting/run.sh --reference [--only PATTERN]           the same under the controller that ours replaces
#   test/troubleshooting/run.sh --list
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH=$PATH:/usr/local/go/bin:${COTRAIN_CACHE:-$HOME/.cache/cotrain}/go/bin
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
more=() reference=
while [[ ${1:-} = --* ]]; do
  case $1 in
    --check | --list) more+=("-${1#--}") ;;
    --only) more+=(-only "${2:?--only needs a pattern}") && shift ;;
    --reference) reference=1 ;;
    *) echo "test/troubleshooting: unknown option '$1'" >&2; exit 2 ;;
  esac
  shift
done
cotrain=${1:-build/dev/cotrain}
mkdir -p build/troubleshooting
(cd test/troubleshooting && CGO_ENABLED=0 go build -o ../../build/troubleshooting/play .)
case " ${more[*]} " in *' -list '*) exec build/troubleshooting/play -list ;; esac
[ -n "$reference" ] || [ -x "$cotrain" ] || { echo "test/troubleshooting: $cotrain is missing: build it first, or name another" >&2; exit 2; }
definitions=$(test/controlplane/build.sh path | tail -n 1)
bin=$(test/controlplane/build.sh base jobset ${reference:+reference} | tail -n 1)
options=(--timeout 300 --with "kcm,scheduler,jobset${reference:+,reference}"
  # A node that is gone is noticed within seconds, and its Pods are not waited for.
  --arg kcm=--node-monitor-grace-period=12s --arg apiserver=--default-unreachable-toleration-seconds=2
  --arg apiserver=--default-not-ready-toleration-seconds=2)
[ -n "$reference" ] || more+=(-operator "$(realpath "$cotrain")")
exec "$bin/controlplane" exec --dir "build/troubleshooting/${reference:+reference-}cluster" "${options[@]}" -- build/troubleshooting/play -top "$PWD" "${more[@]}"
