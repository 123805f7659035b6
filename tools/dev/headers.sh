#!/usr/bin/env bash
# Compiles every header on its own, with clang.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common build; do . "tools/dev/$part.sh"; done
build_preset headers header_check
