#!/usr/bin/env bash
# Runs the programs of examples/library against the API server of KUBECONFIG: one request, and one event of a watch.
# Usage: library.sh DIRECTORY   where they are built (inside of `controlplane exec`)
set -euo pipefail
fail() { printf 'examples/library: %s\n' "$1" >&2; exit 1; }
server=${COTRAIN_TEST_SERVER#https://}
said=$("$1/get" "${server%:*}" "${server##*:}" /version "$COTRAIN_TEST_PKI/ca.crt")
case $said in 200*gitVersion*) ;; *) fail "get says $said" ;; esac
! "$1/get" "${server%:*}" "${server##*:}" /version 2>/dev/null || fail 'get takes a server that nobody vouches for'

exec {events}< <(exec "$1/watch" default 1)
pid=$!
seen=
while IFS= read -r line <&"$events"; do
  [ "$line" != watching ] || "$COTRAIN_TEST_KUBECTL" create configmap seen -n default >/dev/null
  case $line in *'"ADDED"'*'"name":"seen"'*) seen=yes ;; esac
done
wait "$pid" || fail 'watch failed'
[ -n "$seen" ] || fail 'watch did not see the ConfigMap'
printf 'examples/library: a request over HTTP/2, a list and a watch\n'
