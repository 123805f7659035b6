#!/usr/bin/env bash
# Attacks and faults against the running operator, with a kube-apiserver and etcd of its own; see README.md.
#   test/attack/run.sh [attacks|faults] [--only PATTERN] [--seed N] [COTRAIN]   COTRAIN is the program (build/dev/cotrain)
#   test/attack/run.sh list
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
top=$PWD
PATH=$PATH:/usr/local/go/bin:${COTRAIN_CACHE:-$HOME/.cache/cotrain}/go/bin
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
group=attacks
case ${1:-} in attacks | faults | list) group=$1 && shift ;; esac
more=()
while [[ ${1:-} = --* ]]; do more+=("-${1#--}" "${2:?$1 needs a value}") && shift 2; done
cotrain=${1:-build/dev/cotrain}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd test/attack && CGO_ENABLED=0 go build -o "$work/attack" .)
[ "$group" != list ] || { "$work/attack" -list; exit 0; }
[ -x "$cotrain" ] || { echo "test/attack: $cotrain is missing: build it first, or name another" >&2; exit 1; }
bin=$(test/controlplane/build.sh base | tail -n 1)
definitions=$(test/controlplane/build.sh path | tail -n 1)
with=()
[ "$group" = attacks ] || with=(--with kcm)
"$bin/controlplane" exec --audit "${with[@]}" --crds "$definitions/jobset.yaml" --crds "$definitions/podgroup-scheduler-plugins.yaml" -- \
  "$work/attack" -group "$group" -top "$top" -operator "$(realpath "$cotrain")" "${more[@]}"
