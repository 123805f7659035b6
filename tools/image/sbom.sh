#!/usr/bin/env bash
# What the image's binary is made of, as SPDX 2.3 JSON: ourselves, and every library inside with its version and licence.
# Usage: sbom.sh BINARY ARCHITECTURE VERSION OPENSSL [LIBRARIES]
# OPENSSL is the directory that openssl.sh printed, LIBRARIES the one of arm64_libraries.sh.
set -euo pipefail
export LC_ALL=C TZ=UTC
binary=$1 architecture=$2 version=$3 openssl=$4 libraries=${5:-}
created=$(date -u -d "@${SOURCE_DATE_EPOCH:?}" +%Y-%m-%dT%H:%M:%SZ)
digest=$(sha256sum "$binary" | cut -d ' ' -f 1)

# debian PACKAGE…: the version of the first that is installed. Packages of one architecture carry it in their name.
debian() {
  local each found
  for each; do
    found=$(dpkg-query -W -f '${Version}\n' "$each" 2>/dev/null | head -n 1) || true
    if [ -n "$found" ]; then
      printf '%s' "$found"
      return
    fi
  done
}
# of_header FILE NAME: the text that a header defines
of_header() { sed -nE "s/^# *define $2 \"(.*)\".*/\1/p" "$1"; }

# package ID NAME VERSION LICENCE URL
package() {
  printf ',\n  {"SPDXID":"SPDXRef-%s","name":"%s","versionInfo":"%s","licenseConcluded":"%s","licenseDeclared":"%s","copyrightText":"NOASSERTION","downloadLocation":"%s","filesAnalyzed":false}' \
    "$1" "$2" "${3:-unknown}" "$4" "$4" "$5"
  contained+=("$1")
}
contained=()

printf '{"spdxVersion":"SPDX-2.3","dataLicense":"CC0-1.0","SPDXID":"SPDXRef-DOCUMENT","name":"cotrain-%s-linux-%s",\n' "$version" "$architecture"
printf ' "documentNamespace":"https://cotrain.dev/spdx/%s/%s/%s","creationInfo":{"created":"%s","creators":["Tool: tools/image/sbom.sh"]},\n' \
  "$version" "$architecture" "$digest" "$created"
printf ' "packages":[\n  {"SPDXID":"SPDXRef-cotrain","name":"cotrain","versionInfo":"%s","licenseConcluded":"Apache-2.0","licenseDeclared":"Apache-2.0","copyrightText":"NOASSERTION","downloadLocation":"NOASSERTION","filesAnalyzed":false,"primaryPackagePurpose":"APPLICATION","checksums":[{"algorithm":"SHA256","checksumValue":"%s"}]}' \
  "$version" "$digest"
package openssl openssl "$(of_header "$openssl/include/openssl/opensslv.h" OPENSSL_FULL_VERSION_STR)" Apache-2.0 https://openssl-library.org
if [ -n "$libraries" ]; then
  nghttp2=$(of_header "$libraries/include/nghttp2/nghttp2ver.h" NGHTTP2_VERSION)
else
  nghttp2=$(debian "libnghttp2-dev:$architecture")
fi
package nghttp2 nghttp2 "$nghttp2" MIT https://nghttp2.org
package boost boost "$(debian libboost1.88-dev libboost-dev)" BSL-1.0 https://www.boost.org
package fmt fmt "$(debian libfmt-dev)" MIT https://fmt.dev
package glaze glaze "$(debian libglaze-dev)" MIT https://github.com/stephenberry/glaze
package glibc glibc "$(debian "libc6-dev:$architecture" "libc6-dev-$architecture-cross")" LGPL-2.1-or-later https://www.gnu.org/software/libc
package libstdcxx libstdc++ "$(debian "libstdc++-14-dev:$architecture" "libstdc++-14-dev-$architecture-cross")" 'GPL-3.0-or-later WITH GCC-exception-3.1' https://gcc.gnu.org
printf '\n ],\n "relationships":[\n  {"spdxElementId":"SPDXRef-DOCUMENT","relationshipType":"DESCRIBES","relatedSpdxElement":"SPDXRef-cotrain"}'
for each in "${contained[@]}"; do
  printf ',\n  {"spdxElementId":"SPDXRef-cotrain","relationshipType":"STATIC_LINK","relatedSpdxElement":"SPDXRef-%s"}' "$each"
done
printf '\n ]}\n'
