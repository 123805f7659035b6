#!/usr/bin/env bash
# What the image's binary is made of, as SPDX 2.3 JSON: ourselves, and every package of tools/image/pins that is inside, with
# version, licence, sum and package URL.
# Usage: sbom.sh BINARY ARCHITECTURE VERSION
set -euo pipefail
export LC_ALL=C TZ=UTC
binary=$1 architecture=$2 version=$3
pins=$(dirname "${BASH_SOURCE[0]}")/pins
created=$(date -u -d "@${SOURCE_DATE_EPOCH:?}" +%Y-%m-%dT%H:%M:%SZ)
digest=$(sha256sum "$binary" | cut -d ' ' -f 1)

licence() {
  case $1 in
    libc6-dev) echo LGPL-2.1-or-later ;;
    libc++-*-dev | libc++abi-*-dev | libunwind-*-dev | libclang-rt-*-dev) echo Apache-2.0 WITH LLVM-exception ;;
    libboost*-dev) echo BSL-1.0 ;;
    libfmt-dev | libglaze-dev | nghttp2 | libyaml) echo MIT ;;
    openssl) echo Apache-2.0 ;;
    *)
      echo "sbom: no licence is known of $1" >&2
      return 1
      ;;
  esac
}
encoded() { sed 's/+/%2B/g; s/:/%3A/g' <<<"$1"; }
# package_url SUITE KIND NAME VERSION SOURCE
package_url() {
  local kind=$2
  [ "$5" = "$3" ] || kind+="&upstream=$5"
  printf 'pkg:deb/debian/%s@%s?arch=%s&distro=%s' "$(encoded "$3")" "$(encoded "$4")" "$kind" "$1"
}

# package NAME VERSION LICENCE LOCATION SUM URL COMMENT
contained=()
package() {
  local id=${1//[^a-zA-Z0-9.-]/-}
  printf ',\n  {"SPDXID":"SPDXRef-%s","name":"%s","versionInfo":"%s","supplier":"Organization: Debian","licenseConcluded":"%s","licenseDeclared":"%s","copyrightText":"NOASSERTION","downloadLocation":"%s","filesAnalyzed":false,"checksums":[{"algorithm":"SHA256","checksumValue":"%s"}],"externalRefs":[{"referenceCategory":"PACKAGE-MANAGER","referenceType":"purl","referenceLocator":"%s"}]%s}' \
    "$id" "$1" "$2" "$3" "$3" "$4" "$5" "$6" "${7:+,\"sourceInfo\":\"$7\"}"
  contained+=("$id")
}

# Each line of pins but those with Debian's changes to a source, which are listed with the source, and the kernel's headers:
# of the kernel there are numbers inside, no code.
packages() {
  local suite kind name version sum path source patches
  while read -r suite kind name version sum path; do
    case $kind in "$architecture" | all | source) ;; *) continue ;; esac
    case $path in *.debian.tar.* | */linux-libc-dev_*) continue ;; esac
    source=$(basename "$(dirname "$path")") patches=
    [ "$kind" != source ] ||
      patches=$(awk -v name="$name" '$2 == "source" && $3 == name && $6 ~ /\.debian\.tar/ { print "with the patches in https://deb.debian.org/" $6 ", sha256:" $5 }' "$pins")
    package "$name" "$version" "$(licence "$name")" "https://deb.debian.org/$path" "$sum" \
      "$(package_url "$suite" "$kind" "$name" "$version" "$source")" "$patches"
  done < <(grep -v '^#' "$pins")
}

printf '{"spdxVersion":"SPDX-2.3","dataLicense":"CC0-1.0","SPDXID":"SPDXRef-DOCUMENT","name":"cotrain-%s-linux-%s",\n' "$version" "$architecture"
printf ' "documentNamespace":"https://cotrain.dev/spdx/%s/%s/%s","creationInfo":{"created":"%s","creators":["Tool: tools/image/sbom.sh"]},\n' \
  "$version" "$architecture" "$digest" "$created"
printf ' "packages":[\n  {"SPDXID":"SPDXRef-cotrain","name":"cotrain","versionInfo":"%s","licenseConcluded":"Apache-2.0","licenseDeclared":"Apache-2.0","copyrightText":"NOASSERTION","downloadLocation":"NOASSERTION","filesAnalyzed":false,"primaryPackagePurpose":"APPLICATION","checksums":[{"algorithm":"SHA256","checksumValue":"%s"}],"externalRefs":[{"referenceCategory":"PACKAGE-MANAGER","referenceType":"purl","referenceLocator":"pkg:github/cotrain/cotrain@v%s"}]}' \
  "$version" "$digest" "$version"
packages
printf '\n ],\n "relationships":[\n  {"spdxElementId":"SPDXRef-DOCUMENT","relationshipType":"DESCRIBES","relatedSpdxElement":"SPDXRef-cotrain"}'
for each in "${contained[@]}"; do
  printf ',\n  {"spdxElementId":"SPDXRef-cotrain","relationshipType":"STATIC_LINK","relatedSpdxElement":"SPDXRef-%s"}' "$each"
done
printf '\n ]}\n'
