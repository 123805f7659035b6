#!/usr/bin/env bash
# Fails when a source includes a room that the arrows of ARCHITECTURE.md do not lead to, or Glaze from a header.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
declare -A may=(
  [base]='' [doc]='base' [api]='doc base' [crd]='api doc base' [net]='base' [kube]='api doc net base' [watch]='api doc kube base'
  [runtime]='api doc base' [plugins]='runtime api doc base' [admission]='runtime plugins crd api doc base'
  [reconcile]='watch kube runtime plugins api doc base' [certs]='kube api doc net base'
  [serve]='kube admission runtime api doc net base' [sim]='runtime crd api doc net base' [ui]='app' [playground]='app sim ui'
  [bench]='playground app sim')
# The build draws the same arrows; neither may drift.
while read -r room arrows; do
  [ "${may[$room]-none}" = "$arrows" ] || { echo "layering: src/CMakeLists.txt gives $room '$arrows', tools/dev/layering.sh '${may[$room]-}'" >&2; exit 1; }
done < <(sed -nE 's/^cotrain_room(_apart)?\(([a-z]+) ?([a-z ]*)\)$/\2 \3/p' src/CMakeLists.txt)
bad=0
while IFS=: read -r file line include; do
  room=${file#src/} && room=${room%%/*}
  to=$(sed -nE 's/.*#include "([a-z_]+)\/.*/\1/p' <<<"$include")
  [ "$to" = "$room" ] && continue
  # What is apart from the product: only what is apart itself, and the program's main, know it.
  case "$to:$room:$file" in
    sim:playground:* | sim:bench:* | ui:playground:* | playground:bench:* | bench:app:src/app/main.cpp | playground:app:src/app/main.cpp | ui:app:src/app/main.cpp) continue ;;
    sim:* | ui:* | playground:* | bench:*) echo "layering: $file:$line: $to/ is apart from the product" >&2; bad=1; continue ;;
  esac
  case $room in app | ui | playground | bench) continue ;; esac
  [ -n "${may[$room]+known}" ] || { echo "layering: $file: room '$room' has no arrows" >&2; bad=1; continue; }
  case " ${may[$room]} " in *" $to "*) ;; *) echo "layering: $file:$line: $room may not include $to/" >&2; bad=1 ;; esac
done < <(grep -rnE '^#include "[a-z_]+/' src || true)
if grep -rln '#include <glaze' src --include='*.hpp' >&2; then echo 'layering: Glaze belongs into codec sources, not into headers' >&2; bad=1; fi
if grep -rlE '#include <boost/asio|"base/(asio|signal|task_group)|_clock::now' src/runtime src/plugins src/admission >&2 2>/dev/null; then
  echo 'layering: src/runtime and src/plugins know no Asio, no kube and no clock' >&2; bad=1
fi
exit $bad
