#!/usr/bin/env bash
# Builds everything and runs the unit tests under ASan and UBSan.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common build test; do . "tools/dev/$part.sh"; done
build_preset asan
run_suites asan- build/asan/test/*_test
summary
