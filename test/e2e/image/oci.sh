# Writes images as OCI archives, uncompressed. Sourced.

digest_of() { sha256sum "$1" | cut -d' ' -f1; }

# oci_archive OUT REFERENCE CONFIG LAYER…: the layers, tar files, become one image; CONFIG is its "config" in JSON.
oci_archive() {
  local out=$1 reference=$2 config=$3 layer digest work ids='' layers=''
  shift 3
  work=$(mktemp -d "$out.XXXXXX")
  mkdir -p "$work/blobs/sha256"
  for layer; do
    digest=$(digest_of "$layer")
    ln "$layer" "$work/blobs/sha256/$digest" 2>/dev/null || cp "$layer" "$work/blobs/sha256/$digest"
    ids+="${ids:+,}\"sha256:$digest\""
    layers+="${layers:+,}$(descriptor application/vnd.oci.image.layer.v1.tar "$work/blobs/sha256/$digest")"
  done
  blob "$work" "{\"architecture\":\"amd64\",\"os\":\"linux\",\"config\":$config,\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[$ids]}}"
  config=$(descriptor application/vnd.oci.image.config.v1+json "$blob")
  blob "$work" "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"config\":$config,\"layers\":[$layers]}"
  layer=$(descriptor application/vnd.oci.image.manifest.v1+json "$blob")
  printf '{"schemaVersion":2,"manifests":[%s,"annotations":{"io.containerd.image.name":"%s","org.opencontainers.image.ref.name":"%s"}}]}' \
    "${layer%\}}" "$reference" "${reference##*:}" >"$work/index.json"
  printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci-layout"
  tar -C "$work" --owner=0 --group=0 --numeric-owner -cf "$out.new" oci-layout index.json blobs
  rm -rf "$work"
  mv "$out.new" "$out"
}

# blob DIR TEXT: stores the text; $blob is the file
blob() {
  blob=$1/blobs/sha256/$(printf '%s' "$2" | sha256sum | cut -d' ' -f1)
  printf '%s' "$2" >"$blob"
}

descriptor() { printf '{"mediaType":"%s","digest":"sha256:%s","size":%s}' "$1" "$(basename "$2")" "$(stat -c %s "$2")"; }
