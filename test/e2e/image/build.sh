#!/usr/bin/env bash
# Builds the images that Pods of the tests run, once, into a cache outside of the tree, as OCI archives:
#   build.sh smoke KUBECTL   pause, kubectl (of the binary KUBECTL) and train: Debian with torch, Open MPI 5 and sshd
#   build.sh full KUBECTL    these; more: MPICH, jax, xgboost and the Kubeflow SDK; openmpi4: Debian 12's Open MPI 4.1
# The last line of standard output is their directory.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${COTRAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cotrain}
. "$here/oci.sh"
. "$here/../../../tools/dev/libraries.sh"
say() { printf 'test/e2e/image: %s\n' "$*" >&2; }

# archive NAME REFERENCE CONFIG: image NAME of the layer NAME.layer
archive() {
  oci_archive "$dir/$1.tar" "$2" "$3" "$dir/$1.layer"
  rm "$dir/$1.layer"
}

pause() {
  mkdir -p "$work/pause"
  clang-19 -fuse-ld=lld -Os -static -s -o "$work/pause/pause" "$here/pause.c"
  tar -C "$work/pause" --owner=0 --group=0 -cf "$dir/pause.layer" .
  archive pause cotrain.test/pause:1 '{"Entrypoint":["/pause"]}'
}

kubectl() {
  mkdir -p "$work/kubectl/bin" "$work/kubectl/tmp"
  cp -L "$1" "$work/kubectl/bin/kubectl"
  chmod 1777 "$work/kubectl/tmp"
  tar -C "$work/kubectl" --owner=0 --group=0 -cf "$dir/kubectl.layer" .
  archive kubectl cotrain.test/kubectl:1 '{"Entrypoint":["/bin/kubectl"],"Env":["PATH=/bin"]}'
}

# Files nobody needs here; most of the bytes are a compiler for graphics cards that UCX brings along.
without=()
while read -r path; do without+=(--dpkgopt="path-exclude=/usr/$path"); done <<'TEXT'
share/doc/*
share/man/*
share/locale/*
include/*
lib/libtorch-test/*
lib/python3/dist-packages/torch/bin/test_*
lib/x86_64-linux-gnu/libLLVM*
lib/x86_64-linux-gnu/libamd*
lib/x86_64-linux-gnu/libhsa*
lib/x86_64-linux-gnu/ucx/*rocm*
TEXT
# debian NAME SUITE PACKAGES [OPTION…]
debian() {
  local name=$1 suite=$2 packages=$3 mirror
  shift 3
  mirror=$(apt_mirror)
  [ -n "$mirror" ] || { say "no Debian mirror found in /etc/apt"; exit 1; }
  mmdebstrap --mode=root --format=tar --variant=minbase --include="$packages" --aptopt='APT::Install-Recommends "false"' \
    "${without[@]}" "$@" "$suite" "$dir/$name.layer" "$mirror" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
}

readonly shell='{"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],"Cmd":["/bin/bash"]}'
train() {
  debian train trixie python3-torch,python3-numpy,openmpi-bin,openssh-server,openssh-client,netbase --customize-hook="$here/train.sh"
  archive train cotrain.test/train:1 "$shell"
}

more() {
  debian more trixie python3,mpich,openssh-server,openssh-client,netbase --customize-hook="$here/train.sh" --customize-hook="$here/python.sh"
  archive more cotrain.test/more:1 "$shell"
}
openmpi4() {
  debian openmpi4 bookworm openmpi-bin,openssh-server,openssh-client,netbase --customize-hook="$here/train.sh"
  archive openmpi4 cotrain.test/openmpi4:1 "$shell"
}

# image NAME COMMAND…: unless it is there
image() {
  local name=$1 began=$SECONDS
  shift
  [ ! -e "$dir/$name.tar" ] || return 0
  say "$name: building"
  "$@"
  say "$name: built in $((SECONDS - began)) s, $(($(stat -c %s "$dir/$name.tar") >> 20)) MB"
}

mkdir -p "$cache"
dir=$cache/e2e-image-$({ cat "$here"/*.{sh,c,txt}; readlink -f "${2:-}"; } | sha256sum | cut -c1-16)
exec 9>"$cache/e2e-image.lock"
flock 9
mkdir -p "$dir"
work=$(mktemp -d "$dir/work.XXXXXX")
trap 'rm -rf "$work" "$dir"/*.layer' EXIT
trap 'exit 143' INT TERM HUP
case ${1:-} in smoke | full) ;; *) say "which images? build.sh smoke|full KUBECTL"; exit 2 ;; esac
image pause pause
image kubectl kubectl "$2"
image train train
if [ "$1" = full ]; then
  image more more
  image openmpi4 openmpi4
fi
touch "$dir"
find "$cache" -maxdepth 1 -name 'e2e-image-*' -mtime +30 -exec rm -rf {} +
echo "$dir"
