# Jobs in real Pods, on a cluster of one node that lives for the run. Sourced by ./dev.

readonly e2e_proofs='
runc runc
nft nftables
ip iproute2
nsenter util-linux
mmdebstrap mmdebstrap
pip3 python3-pip'

# COTRAIN_E2E_OPERATOR=ARCHIVE takes that image instead of building one.
run_e2e() {
  local operator=${COTRAIN_E2E_OPERATOR:-}
  if [ -z "$operator" ]; then
    declare -F run_image >/dev/null || die "e2e: no image can be built here; name one: COTRAIN_E2E_OPERATOR=ARCHIVE.tar ./dev e2e"
    run_image amd64
    operator=build/image/cotrain-linux-amd64.tar
  fi
  as_root env PATH="$PATH" COTRAIN_CACHE="$cache" GOTOOLCHAIN="$GOTOOLCHAIN" test/e2e/run.sh "$operator" "$@"
}
