#!/usr/bin/env bash
# Brings packages from PyPI into the new system in $1, whose Python need not be this machine's.
set -euo pipefail
version=$(basename "$(readlink "$1/usr/bin/python3")")
version=${version#python}
platforms=()
for each in manylinux2014 manylinux_2_27 manylinux_2_28; do platforms+=(--platform "${each}_x86_64"); done
python3 -m pip install --quiet --root-user-action ignore --python-version "$version" --implementation cp --only-binary=:all: --ignore-requires-python \
  "${platforms[@]}" --target "$1/usr/local/lib/python$version/dist-packages" -r "$(dirname "${BASH_SOURCE[0]}")/requirements.txt"
chroot "$1" python3 -m compileall -q "/usr/local/lib/python$version/dist-packages" >/dev/null || true
