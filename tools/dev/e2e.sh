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
    case " $* " in
      *' --full '*)
        run_image amd64
        operator=build/image/cotrain-linux-amd64.tar
        ;;
      *)
        image_for_smoke
        operator=build/e2e-image/cotrain-linux-amd64.tar
        ;;
    esac
  fi
  as_root env PATH="$PATH" COTRAIN_CACHE="$cache" GOTOOLCHAIN="$GOTOOLCHAIN" test/e2e/run.sh "$operator" "$@"
}

# The image as it is shipped, but for optimisation while linking, which takes longer than everything else that a change
# makes necessary, and without the other program.
image_for_smoke() {
  local build=build/e2e-image
  need image
  image_epoch
  configure_static amd64 $build -DCOTRAIN_LTO=OFF
  say "building manager"
  NINJA_STATUS='[%f/%t %es] ' ninja -C $build -j "$jobs" manager | show_progress
  llvm-strip-19 -o $build/stripped $build/manager
  tools/image/hardened.sh $build/stripped $build/manager >&2
  tools/image/archive.sh $build/stripped amd64 "$image_version" $build/cotrain-linux-amd64.tar >/dev/null
}
