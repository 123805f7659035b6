#!/usr/bin/env bash
# Installs a build (default: build/dev) into build/package and builds programs against it, as somebody else would: one that reads a
# kubeconfig, and one with a plugin of its own, which is shown at work.
# Usage: package.sh [BUILD]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common build; do . "tools/dev/$part.sh"; done
pick_compiler
prefix=$PWD/build/package build=${1:-build/dev}

# build_against SOURCES BUILD: configures and builds with nothing but the installed package
build_against() {
  quietly "build/test-logs/$(basename "$2").log" cmake -S "$1" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  quietly "build/test-logs/$(basename "$2").log" ninja -C "$2"
}

# shows TEXT: the plugin's effect is in what was rendered
shows() { grep -qF -- "$1" build/plugin/rendered.yaml || die "examples/plugin: no '$1' in build/plugin/rendered.yaml"; }

rm -rf build/package build/consumer build/plugin build/library
quietly build/test-logs/install.log cmake --install "$build" --prefix "$prefix"
build_against test/package build/consumer
build/consumer/consumer
build_against examples/library build/library

build_against examples/plugin build/plugin
build/plugin/spot_render examples/plugin/spot.yaml >build/plugin/rendered.yaml
for text in 'key: spot.example.com/machine' 'name: CHECKPOINT_EVERY' 'mountPath: /etc/spot' 'name: cheap-spot' 'nodes: "2"' \
  'name: PET_NNODES' 'kind: JobSet'; do
  shows "$text"
done
sed 's/value: "true"/value: "maybe"/' examples/plugin/spot.yaml >build/plugin/refused.yaml
if said=$(build/plugin/spot_render build/plugin/refused.yaml 2>&1); then die 'examples/plugin: "maybe" was not refused'; fi
case $said in
  *'spec.trainer.env: Invalid value: "maybe": SPOT_ALLOWED must be'*) ;;
  *) die "examples/plugin: refused with other words: $said" ;;
esac
printf 'examples/plugin: its toleration, volume, variable and ConfigMap are there; a wrong value is refused\n'

# The operator inside of a host program, and the clients by themselves, on a real API server.
bin=$(test/controlplane/build.sh base | tail -n 1)
"$bin/controlplane" exec --crds "$(test/controlplane/build.sh path | tail -n 1)" -- \
  sh -ec 'tools/dev/embed.sh build/consumer/embed; tools/dev/library.sh build/library'
