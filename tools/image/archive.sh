#!/usr/bin/env bash
# One static binary becomes an OCI archive, without a container engine; the same input gives the same bytes.
# Usage: archive.sh BINARY ARCHITECTURE VERSION ARCHIVE   prints the image's digest
set -euo pipefail
export LC_ALL=C TZ=UTC
binary=$1 architecture=$2 version=$3 archive=$4
epoch=${SOURCE_DATE_EPOCH:?the time that the image says it was made}
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
readonly repository=ghcr.io/cotrain/cotrain user=65532
# Requests come and go in bursts that are wider than the seven blocks of a size that the C library keeps at hand.
readonly tunables=GLIBC_TUNABLES=glibc.malloc.tcache_count=128
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blobs=$work/out/blobs/sha256
mkdir -p "$blobs" "$work/root/tmp"

sum() { sha256sum "$1" | cut -d ' ' -f 1; }
size() { stat -c %s "$1"; }
# pack FROM TO: sorted, owned by root, of one time
pack() { tar -C "$1" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf "$2" .; }
# keep FILE: moves a file to where its content's sum puts it, and prints that sum
keep() {
  local digest
  digest=$(sum "$1")
  mv "$1" "$blobs/$digest"
  printf %s "$digest"
}

install -m 0755 "$binary" "$work/root/manager"
ln -s manager "$work/root/cotrain"
chmod 1777 "$work/root/tmp"
chmod 0755 "$work/root"
pack "$work/root" "$work/layer"
layer_id=$(sum "$work/layer")
gzip -n -9 "$work/layer"
layer=$(keep "$work/layer.gz")

printf '{"architecture":"%s","os":"linux","created":"%s","config":{"User":"%s:%s","Entrypoint":["/manager"],"Env":["PATH=/","%s"],"WorkingDir":"/","Labels":{"org.opencontainers.image.title":"cotrain","org.opencontainers.image.version":"%s","org.opencontainers.image.licenses":"Apache-2.0"}},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"%s","created_by":"tools/image/archive.sh"}]}' \
  "$architecture" "$created" $user $user $tunables "$version" "$layer_id" "$created" >"$work/config"
config=$(keep "$work/config")
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%s},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:%s","size":%s}]}' \
  "$config" "$(size "$blobs/$config")" "$layer" "$(size "$blobs/$layer")" >"$work/manifest"
manifest=$(keep "$work/manifest")

printf '{"imageLayoutVersion":"1.0.0"}' >"$work/out/oci-layout"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":%s,"platform":{"architecture":"%s","os":"linux"},"annotations":{"io.containerd.image.name":"%s:v%s","org.opencontainers.image.ref.name":"v%s"}}]}' \
  "$manifest" "$(size "$blobs/$manifest")" "$architecture" $repository "$version" "$version" >"$work/out/index.json"
# `docker load` before version 25 reads this instead.
printf '[{"Config":"blobs/sha256/%s","RepoTags":["%s:v%s"],"Layers":["blobs/sha256/%s"]}]' \
  "$config" $repository "$version" "$layer" >"$work/out/manifest.json"
pack "$work/out" "$work/archive"
mv "$work/archive" "$archive"
printf 'sha256:%s\n' "$manifest"
