#!/usr/bin/env bash
# Images for several architectures become one OCI archive with one index; the same input gives the same bytes.
# Usage: index.sh VERSION ARCHIVE IMAGE.tar…   prints the index's digest
set -euo pipefail
export LC_ALL=C TZ=UTC
version=$1 archive=$2
shift 2
epoch=${SOURCE_DATE_EPOCH:?the time that the archive says it was made}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blobs=$work/out/blobs/sha256
mkdir -p "$blobs"
manifests=
for image; do
  mkdir "$work/one"
  tar -xf "$image" -C "$work/one"
  mv "$work"/one/blobs/sha256/* "$blobs/"
  # One manifest each, whose annotations are about a file of its own.
  manifests+=${manifests:+,}$(sed -E 's/.*"manifests":\[(\{.*\})\]\}$/\1/; s/,"annotations":\{[^}]*\}//' "$work/one/index.json")
  rm -r "$work/one"
done
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' "$manifests" >"$work/index"
digest=$(sha256sum "$work/index" | cut -d ' ' -f 1)
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:%s","size":%s,"annotations":{"org.opencontainers.image.ref.name":"v%s"}}]}' \
  "$digest" "$(stat -c %s "$work/index")" "$version" >"$work/out/index.json"
mv "$work/index" "$blobs/$digest"
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/out/oci-layout"
tar -C "$work/out" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf "$archive" .
printf 'sha256:%s\n' "$digest"
