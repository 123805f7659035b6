#!/usr/bin/env bash
# Builds helm from its Go module, once, into a cache outside of the tree; the last line of standard output is the binary.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${COTRAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cotrain}
say() { printf 'test/deploy: %s\n' "$*" >&2; }

dir=$cache/helm-$(cat "$here"/go.{mod,sum} "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)
if [ ! -x "$dir/helm" ]; then
  mkdir -p "$dir"
  exec 9>"$cache/helm.lock"
  flock 9
fi
if [ ! -x "$dir/helm" ]; then
  for go in "$(command -v go || true)" /usr/local/go/bin/go "$cache/go/bin/go"; do [ ! -x "$go" ] || break; done
  [ -x "$go" ] || { say 'Go is missing, it builds helm for tests: run ./dev setup'; exit 1; }
  version=$(awk '$2 == "helm.sh/helm/v3" { print $3 } $1 == "helm.sh/helm/v3" { print $2 }' "$here/go.mod")
  # Without a cluster, charts are rendered for this version of Kubernetes.
  minor=$(awk '$1 == "k8s.io/api" { split($2, v, "."); print v[2] }' "$here/go.mod")
  flags="-s -w -X helm.sh/helm/v3/internal/version.version=$version"
  for package in pkg/chartutil pkg/lint/rules; do
    flags="$flags -X helm.sh/helm/v3/$package.k8sVersionMajor=1 -X helm.sh/helm/v3/$package.k8sVersionMinor=$minor"
  done
  say "building helm $version, some minutes the first time"
  began=$SECONDS
  (cd "$here" && CGO_ENABLED=0 GOTOOLCHAIN=${GOTOOLCHAIN:-auto} "$go" build -p "${COTRAIN_JOBS:-$(nproc)}" -buildvcs=false \
    -ldflags "$flags" -o "$dir/helm.new" helm.sh/helm/v3/cmd/helm >&2)
  mv "$dir/helm.new" "$dir/helm"
  say "helm: built in $((SECONDS - began)) s"
  find "$cache" -maxdepth 1 -name 'helm-*' -mtime +30 -exec rm -rf {} +
fi
echo "$dir/helm"
