#!/usr/bin/env bash
# A packaged chart becomes an OCI archive as `helm push` would store it, for `skopeo copy` or `oras cp` into a registry.
# Usage: chart.sh CHART.tgz VERSION ARCHIVE   prints the digest
set -euo pipefail
export LC_ALL=C TZ=UTC
chart=$1 version=$2 archive=$3
epoch=${SOURCE_DATE_EPOCH:?the time that the archive says it was made}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blobs=$work/out/blobs/sha256
mkdir -p "$blobs"
# blob FILE: stores it, and prints "digest":…,"size":…
blob() {
  local digest
  digest=$(sha256sum "$1" | cut -d ' ' -f 1)
  cp "$1" "$blobs/$digest"
  printf '"digest":"sha256:%s","size":%s' "$digest" "$(stat -c %s "$1")"
}
printf '{"apiVersion":"v2","name":"cotrain","type":"application","version":"%s","appVersion":"%s"}' "$version" "$version" >"$work/config"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.cncf.helm.config.v1+json",%s},"layers":[{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip",%s}]}' \
  "$(blob "$work/config")" "$(blob "$chart")" >"$work/manifest"
manifest=$(blob "$work/manifest")
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"%s"}}]}' \
  "$manifest" "$version" >"$work/out/index.json"
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/out/oci-layout"
tar -C "$work/out" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf "$archive" .
sed -E 's/.*"digest":"([^"]*)".*/\1/' <<<"$manifest"
