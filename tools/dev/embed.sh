#!/usr/bin/env bash
# Runs the host program of examples/embed.cpp against the API server of KUBECONFIG: it works, and ends when it is asked to.
# Usage: embed.sh PROGRAM   (inside of `controlplane exec`)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=$1
if said=$("$program" /does/not/exist 2>&1); then
  echo "embed: a kubeconfig that is not there was taken" >&2
  exit 1
fi
case $said in host:*/does/not/exist*) ;; *) echo "embed: refused with other words: $said" >&2; exit 1 ;; esac
"$COTRAIN_TEST_KUBECTL" apply --server-side -f deploy/crds >/dev/null
# Not a coproc: bash forgets its descriptors when it ends, which may be before its last lines are read.
exec {host}< <(exec "$program" "$KUBECONFIG" $((20000 + RANDOM % 10000)) 2>&1)
pid=$!
log=
while IFS= read -r line <&"$host"; do
  log+=$line$'\n'
  [ "$line" != 'host: the operator works' ] || kill -INT "$pid"
done
code=0
wait "$pid" || code=$?
case $code:$log in
  0:*'host: the operator works'*'host: the operator has ended with 0'*) echo 'examples/embed: the operator works inside of a host, and ends with it' ;;
  *) printf 'embed: ended with %s\n%s' "$code" "$log" >&2; exit 1 ;;
esac
