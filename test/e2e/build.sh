#!/usr/bin/env bash
# Builds a Go module of this directory, once, into a cache outside of the tree; the last line of standard output is the
# directory of the binaries.
#   build.sh node   what a node needs beside Kubernetes itself: containerd, its shim and ctr, CNI's plugins, CoreDNS
#   build.sh gang   a scheduler that knows PodGroups
#   build.sh kueue-0.19, kueue-0.15   what queues jobs, by runtimePatches and by podTemplateOverrides
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${COTRAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cotrain}
module=$1
say() { printf 'test/e2e/%s: %s\n' "$module" "$*" >&2; }
case $module in
  node) flags=(-trimpath -tags 'no_btrfs no_devmapper no_zfs no_aufs') ;;
  gang | kueue-*) flags=() ;; # as test/controlplane, which compiles most of it
  *) module=build.sh; say "no module '$1'; there are node, gang, kueue-0.19 and kueue-0.15"; exit 2 ;;
esac

dir=$cache/e2e-$module-$(find "$here/$module" -type f | sort | xargs cat "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)
complete() { [ -e "$dir/complete" ]; }
if ! complete; then
  mkdir -p "$dir"
  exec 9>"$cache/e2e-$module.lock"
  flock 9
fi
if ! complete; then
  for go in "$(command -v go || true)" /usr/local/go/bin/go "$cache/go/bin/go"; do [ ! -x "$go" ] || break; done
  [ -x "$go" ] || { say 'Go is missing, it builds what the tests run: run ./dev setup'; exit 1; }
  cd "$here/$module"
  export CGO_ENABLED=0 GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
  mapfile -t packages < <("$go" list ./...; "$go" list tool 2>/dev/null)
  for package in "${packages[@]}"; do
    began=$SECONDS
    "$go" build -p "${COTRAIN_JOBS:-$(nproc)}" -buildvcs=false "${flags[@]}" -ldflags '-s -w' \
      -o "$dir/" "$package" >&2 || { say "$(basename "$package"): the build failed, see above"; exit 1; }
    say "$(basename "$package"): built in $((SECONDS - began)) s"
  done
  touch "$dir/complete"
  find "$cache" -maxdepth 1 -name "e2e-$module-*" -mtime +30 -exec rm -rf {} +
fi
touch "$dir"
echo "$dir"
