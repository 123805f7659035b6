# Jobs in real Pods, on a cluster of one node that lives for the run. Sourced by ./dev.

readonly e2e_proofs='
runc runc
nft nftables
ip iproute2
nsenter util-linux
mmdebstrap mmdebstrap'

run_e2e() {
  local each operator=${COTRAIN_E2E_OPERATOR:-}
  for each; do case $each in --full) ;; *) die "e2e: unknown option '$each'; there is --full" ;; esac; done
  [ -n "$operator" ] || operator=$(operator_image)
  as_root env COTRAIN_CACHE="$cache" PATH="$PATH" test/e2e/run.sh "$operator" "$@"
}
