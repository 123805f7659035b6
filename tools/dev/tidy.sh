#!/usr/bin/env bash
# One source through clang-tidy; a clean one is remembered by the mark file.
set -euo pipefail
source=$1 mark=$2
# The compile commands are GCC's: flags and precompiled headers that clang does not know are its own business.
clang-tidy-19 -quiet -p build/dev --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-gch "$source" 2>/dev/null || {
  printf 'lint: %s\n' "$source" >&2
  exit 1
}
touch "$mark"
