#!/usr/bin/env bash
# Fails on sources over 500 lines and headers over 250: split by policy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bad=0
while read -r lines file; do
  case $file in *.hpp) limit=250 ;; *) limit=500 ;; esac
  [ "$lines" -le $limit ] || { echo "sizes: $file has $lines lines, the limit is $limit" >&2; bad=1; }
done < <(git ls-files -- 'src/*.?pp' 'include/*.hpp' 'test/*.?pp' 'bench/*.?pp' 'tools/*.?pp' 'test/*.go' | xargs -r wc -l | awk '$2 != "total"')
exit $bad
