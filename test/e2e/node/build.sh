#!/usr/bin/env bash
# Builds what a node needs beside Kubernetes itself, once, into a cache outside of the tree: containerd, its shim and
# ctr, CNI's plugins, CoreDNS. The last line of standard output is the directory of the binaries.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${COTRAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cotrain}
say() { printf 'test/e2e/node: %s\n' "$*" >&2; }

dir=$cache/e2e-node-$(cat "$here"/go.{mod,sum} "$here"/coredns/*.go "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)
complete() { [ -e "$dir/complete" ]; }
if ! complete; then
  mkdir -p "$dir"
  exec 9>"$cache/e2e-node.lock"
  flock 9
fi
if ! complete; then
  for go in "$(command -v go || true)" /usr/local/go/bin/go "$cache/go/bin/go"; do [ ! -x "$go" ] || break; done
  [ -x "$go" ] || { say 'Go is missing, it builds containerd and CoreDNS: run ./dev setup'; exit 1; }
  cd "$here"
  export CGO_ENABLED=0 GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
  mapfile -t packages < <("$go" list tool; echo ./coredns)
  for package in "${packages[@]}"; do
    began=$SECONDS
    "$go" build -p "${COTRAIN_JOBS:-$(nproc)}" -trimpath -buildvcs=false -tags 'no_btrfs no_devmapper no_zfs no_aufs' -ldflags '-s -w' \
      -o "$dir/" "$package" >&2 || { say "$(basename "$package"): the build failed, see above"; exit 1; }
    say "$(basename "$package"): built in $((SECONDS - began)) s"
  done
  touch "$dir/complete"
  find "$cache" -maxdepth 1 -name 'e2e-node-*' -mtime +30 -exec rm -rf {} +
fi
touch "$dir"
echo "$dir"
