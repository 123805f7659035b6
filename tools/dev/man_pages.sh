#!/usr/bin/env bash
# Writes a man page for the program and one for each command, from what their --help prints.
# Usage: man_pages.sh PROGRAM VERSION DIRECTORY
set -euo pipefail
program=$1 version=$2 to=$3
day=$(date -u -d "@${SOURCE_DATE_EPOCH:-0}" +%Y-%m-%d)

# page NAME SUMMARY: with the text on standard input
page() {
  printf '.TH %s 1 "%s" "cotrain %s" "Cotrain"\n' "${1^^}" "$day" "$version"
  printf '.SH NAME\n%s \\- %s\n' "${1//-/\\-}" "$2"
  printf '.SH DESCRIPTION\n.nf\n'
  sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"
  printf '.fi\n.SH SEE ALSO\n.BR cotrain (1)\n'
}

help=$("$program" help)
page cotrain 'Kubernetes operator for distributed training' <<<"$help" >"$to/cotrain.1"
while read -r command summary; do
  [ "$command" != help ] && [ "$command" != version ] || continue
  "$program" "$command" --help | page "cotrain-$command" "$summary" >"$to/cotrain-$command.1"
done < <(sed -nE 's/^  ([a-z][a-z-]*) +(.*)/\1 \2/p' <<<"$help")
