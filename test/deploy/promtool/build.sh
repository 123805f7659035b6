#!/usr/bin/env bash
# Builds promtool from its Go module, once, into a cache outside of the tree; the last line of standard output is the binary.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${COTRAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cotrain}
say() { printf 'test/deploy: %s\n' "$*" >&2; }

dir=$cache/promtool-$(cat "$here"/go.{mod,sum} "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)
if [ ! -x "$dir/promtool" ]; then
  mkdir -p "$dir"
  exec 9>"$cache/promtool.lock"
  flock 9
fi
if [ ! -x "$dir/promtool" ]; then
  for go in "$(command -v go || true)" /usr/local/go/bin/go "$cache/go/bin/go"; do [ ! -x "$go" ] || break; done
  [ -x "$go" ] || { say 'Go is missing, it builds promtool for tests: run ./dev setup'; exit 1; }
  say 'building promtool, some minutes the first time'
  began=$SECONDS
  # Without the clients of clouds, which only discovery of targets needs.
  (cd "$here" && CGO_ENABLED=0 GOTOOLCHAIN=${GOTOOLCHAIN:-auto} nice "$go" build -p "${COTRAIN_JOBS:-$(nproc)}" -buildvcs=false \
    -tags remove_all_sd -ldflags '-s -w' -o "$dir/promtool.new" github.com/prometheus/prometheus/cmd/promtool >&2)
  mv "$dir/promtool.new" "$dir/promtool"
  say "promtool: built in $((SECONDS - began)) s"
  find "$cache" -maxdepth 1 -name 'promtool-*' -mtime +30 -exec rm -rf {} +
fi
echo "$dir/promtool"
