#!/usr/bin/env bash
# Fails on sources and headers over 600 lines: a file is as long as its subject, and one of that length has two.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bad=0
while read -r lines file; do
  limit=600
  [ "$lines" -le $limit ] || { echo "sizes: $file has $lines lines, the limit is $limit" >&2; bad=1; }
done < <(git ls-files -- 'src/*.?pp' 'include/*.hpp' 'test/*.?pp' 'bench/*.?pp' 'tools/*.?pp' 'test/*.go' | xargs -r wc -l | awk '$2 != "total"')
exit $bad
