#!/usr/bin/env bash
# Compiles every source, and every header on its own, with clang; links nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common build; do . "tools/dev/$part.sh"; done
export CC=clang-19 CXX=clang++-19
build_preset clang rooms header_check
