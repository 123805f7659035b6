# What the long run adds to smoke.sh: other programs. Sourced.

# open_mpi IMAGE VERSION LAUNCHER_TRAINS NAME
open_mpi() {
  local image=$1 version=$2 trains=$3 name=$4 began seconds title
  title="MPI of Open MPI $version, 3 nodes, 2 slots each, runLauncherAsNode $trains"
  began=$(now)
  create mpi -e "s#cotrain.test/train:1#$image#;s/runLauncherAsNode: true/runLauncherAsNode: $trains/;s/name: mpi\(}*\)\$/name: $name\1/"
  await "$name" Complete 180
  seconds=$(since "$began")
  logs_of "$name"
  if by_reference && [ "$version" = 5 ]; then
    on_launcher_alone "$name" "$title" "$seconds"
    return
  fi
  different 6 'rank=[0-5]/6' "$name: ranks"
  if [ "$trains" = true ]; then
    different 1 "host=$name-launcher-0-0\$" "$name: the launcher"
    different 2 "host=$name-node-0-[01]\$" "$name: hosts"
  else
    different 0 "host=$name-launcher-0-0\$" "$name: the launcher"
    different 3 "host=$name-node-0-[012]\$" "$name: hosts"
  fi
  local found
  found=$(grep -oE "^$version\.[0-9.]+" "$state/log" | head -n 1) || { cat "$state/log" >&2; fail "$name: not Open MPI $version"; }
  row "$title" "Open MPI $found" '6 ranks on 3 distinct hosts over ssh' "$seconds" "$(pods_had_by "$name")"
  remove "$name"
}
check_open_mpi() {
  open_mpi cotrain.test/train:1 5 false mpi5-apart
  open_mpi cotrain.test/openmpi4:1 4 true mpi4
  open_mpi cotrain.test/openmpi4:1 4 false mpi4-apart
}

check_hydra() {
  local kind began seconds found
  for kind in MPICH Intel; do
    began=$(now)
    if by_reference; then
      refused "Unsupported value: \"$kind\"" mpich -e "s/mpiImplementation: MPICH/mpiImplementation: $kind/"
      beside "MPI, 2 nodes, 2 slots each, ${kind,,}'s hostfile" "refused: \`Unsupported value: \"$kind\": supported values: \"OpenMPI\", \"\"\`" "$(since "$began")" 0
      continue
    fi
    # Debian has no Intel MPI: its hostfile and the variable that names it are given to MPICH's launcher.
    if [ $kind = Intel ]; then create mpich -e 's/mpiImplementation: MPICH/mpiImplementation: Intel/;s/name: mpich\(}*\)$/name: intel\1/;s/\[mpiexec.hydra\]/[sh, -c, '"'exec mpiexec.hydra -launcher \"\$I_MPI_HYDRA_BOOTSTRAP\" -iface \"\$I_MPI_HYDRA_IFACE\" -f \"\$I_MPI_HYDRA_HOST_FILE\" -ppn \"\$I_MPI_PERHOST\" \"\$@\"'"', --]/'
    else create mpich; fi
    kind=${kind,,}
    await "$kind" Complete 180
    seconds=$(since "$began")
    logs_of "$kind"
    different 4 'rank=[0-3]/4' "$kind: ranks"
    different 2 "host=$kind-node-0-[01]\$" "$kind: hosts"
    found=$(grep -oE '^[0-9.]+ rank' "$state/log" | head -n 1)
    row "MPI, 2 nodes, 2 slots each, $kind's hostfile" "MPICH ${found% rank}" '4 ranks on 2 distinct hosts over ssh' "$seconds" "$(pods_had_by "$kind")"
    remove "$kind"
  done
}

check_jax() {
  local began seconds found
  began=$(now)
  create jax
  await jax Complete 240
  seconds=$(since "$began")
  logs_of jax
  different 3 'process=[0-2]/3 devices=3 sum=6' 'jax: processes'
  different 3 'host=jax-node-0-[0-2]$' 'jax: hosts'
  found=$(grep -oE 'jax=[0-9.]+' "$state/log" | head -n 1)
  row 'JAX, 3 nodes' "JAX ${found#jax=}" 'jax.distributed: each of 3 processes sees 3 devices and gathers everybody'"'"'s values' "$seconds" "$(pods_had_by jax)"
  remove jax
}

check_xgboost() {
  local began seconds found
  began=$(now)
  create xgboost
  await xgboost Complete 240
  seconds=$(since "$began")
  logs_of xgboost
  different 3 'rank=[0-2]/3 sum=6' 'xgboost: ranks'
  different 1 'model=[0-9a-f]{8}' 'xgboost: one model'
  different 3 'host=xgboost-node-0-[0-2]$' 'xgboost: hosts'
  found=$(grep -oE 'xgboost=[0-9.]+' "$state/log" | head -n 1)
  row 'XGBoost, 3 nodes' "XGBoost ${found#xgboost=}" 'tracker found, all-reduce right, the same model from three shares of the rows' "$seconds" "$(pods_had_by xgboost)"
  remove xgboost
}

check_initializers() {
  local began seconds
  rm -rf "$state/shared/dataset" "$state/shared/model"
  began=$(now)
  create initializers
  await initializers Complete 180
  seconds=$(since "$began")
  logs_of initializers
  different 2 'node=[01] dataset=hf://example/data rows sesame model=hf://example/model$' 'initializers: what the trainer finds'
  row 'plain, dataset and model initialisers' '' "they end before the trainer starts; storage URI, env and the Secret's value in the shared volume" "$seconds" "$(pods_had_by initializers)"
  remove initializers
}

check_plain() {
  local began seconds
  began=$(now)
  create plain
  await plain Complete 120
  seconds=$(since "$began")
  logs_of plain
  different 3 'plainly node=[0-2] host=plain-node-0-[0-2]$' 'plain: nodes'
  row 'plain, 3 nodes' '' 'env reaches each of 3 hosts, which find each other by name' "$seconds" "$(pods_had_by plain)"
  remove plain
}

# The image of Flux is not to be had everywhere: a stub in its place, on the layers of another image.
flux_image() {
  local base=$state/flux/base stub=$state/flux/stub layer
  mkdir -p "$base" "$stub/opt/views/._view/stub/bin" "$stub/opt/software"
  cp "$e2e/flux/flux" "$stub/opt/views/._view/stub/bin/"
  ln -s views/._view/stub "$stub/opt/view"
  tar -C "$stub" --owner=0 --group=0 -cf "$state/flux/stub.tar" .
  tar -C "$base" -xf "$images/openmpi4.tar"
  layer=$(find "$base/blobs" -type f -size +1M)
  oci_archive "$state/flux/image.tar" cotrain.test/flux-stub:1 '{"Env":["PATH=/usr/local/bin:/usr/bin:/bin"]}' "$layer" "$state/flux/stub.tar"
  import "$state/flux/image.tar"
  rm -rf "$state/flux"
}

check_flux() {
  local began seconds each
  flux_image
  began=$(now)
  create flux
  await flux Complete 120
  seconds=$(since "$began")
  logs_of flux
  different 1 'stub: R encode --hosts=flux-node-0-\[0-1\] --cores=0-1$' 'flux: resources'
  lines 2 'stub: start -o --config /mnt/flux/config/etc/flux/config -S.*-Slocal-uri=local:///mnt/flux/config/run/flux/local' 'flux: brokers'
  lines 1 'stub: start .* flux run -N 2 -n 4 echo solved by flux$' 'flux: the leader'
  lines 2 'stub: hosts: . host="flux-node-0-\[0-1\]"' 'flux: hosts of the brokers'
  lines 2 'stub: connect: .*"tcp://%h.flux.team.svc.cluster.local:%p"' 'flux: the way to the brokers'
  lines 2 "stub: certificate: $(by_reference && echo 400 || echo 600) 0 2\$" 'flux: the certificate'
  lines 2 'stub: resources: {"version": 1}$' 'flux: resources are where the brokers look'
  lines 1 '^solved by flux$' 'flux: the command'
  row 'Flux, 2 nodes × 2 processes, `flux` being a stub' '' "both scripts run by bash in the Pods; brokers, resources, certificate and command are handed to \`flux\` as it wants them; Flux itself did not run" "$seconds" "$(pods_had_by flux)"
  remove flux
}
