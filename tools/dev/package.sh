#!/usr/bin/env bash
# Installs the dev build into build/package and builds a program against it, as somebody else would.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common build; do . "tools/dev/$part.sh"; done
pick_compiler
prefix=$PWD/build/package
rm -rf build/package build/consumer
quietly build/test-logs/install.log cmake --install build/dev --prefix "$prefix"
quietly build/test-logs/consumer.log cmake -S test/package -B build/consumer -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
quietly build/test-logs/consumer.log ninja -C build/consumer
build/consumer/consumer
