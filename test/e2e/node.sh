# A node that runs Pods: containerd, kubelet, kube-proxy and CoreDNS, beside the API server that test/controlplane
# started, all of it in one network namespace and under $state. Sourced.

# daemon NAME COMMAND…: in the background; its words go to logs/NAME.log, its number to logs/NAME.pid
daemon() {
  local name=$1
  shift
  setsid "$@" >>"$state/logs/$name.log" 2>&1 </dev/null &
  echo $! >"$state/logs/$name.pid"
}

# identity NAME SUBJECT EXTENSION: a certificate of the cluster's authority
identity() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$state/pki/$1.key" -subj "$2" 2>/dev/null |
    openssl x509 -req -CA "$COTRAIN_TEST_PKI/ca.crt" -CAkey "$COTRAIN_TEST_PKI/ca.key" -days 2 \
      -extfile <(echo "$3") -out "$state/pki/$1.crt" 2>/dev/null
}

# known_as NAME: a kubeconfig of that identity
known_as() {
  local config=$state/pki/$1.kubeconfig
  cp "$KUBECONFIG" "$config"
  kube --kubeconfig "$config" config set-credentials "$1" --client-certificate="$state/pki/$1.crt" --client-key="$state/pki/$1.key" >/dev/null
  kube --kubeconfig "$config" config set-context --current --user="$1" >/dev/null
}

start_containerd() {
  mkdir -p "$state/cni"
  cat >"$state/cni/10-pods.conflist" <<TEXT
{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp",
  "ipam": {"type": "host-local", "dataDir": "$state/addresses", "ranges": [[{"subnet": "$pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
TEXT
  # Without CAP_SYS_RESOURCE no process may be made less likely to be killed than its parent.
  cat >"$state/containerd.toml" <<TEXT
version = 3
root = "$state/containerd"
state = "$state/containerd-state"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.btrfs"]
[grpc]
  address = "$state/containerd.sock"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "cotrain.test/pause:1"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "$(command -v runc)"
      SystemdCgroup = false
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["$node_bin"]
    conf_dir = "$state/cni"
TEXT
  PATH=$node_bin:$PATH daemon containerd containerd -c "$state/containerd.toml"
  until_true 30 containerd "$node_bin/ctr" -a "$state/containerd.sock" version
}

import() { "$node_bin/ctr" -a "$state/containerd.sock" -n k8s.io images import "$1" >"$state/said" 2>&1 || { cat "$state/said" >&2; fail "importing $1"; }; }

# import_program FILE REFERENCE: an image of nothing but that program, as /manager
import_program() {
  local files=$state/program
  mkdir -p "$files"
  cp -L "$1" "$files/manager"
  tar -C "$files" --owner=0 --group=0 -cf "$files.layer" .
  oci_archive "$files.tar" "$2" '{"User":"65532:65532","Entrypoint":["/manager"]}' "$files.layer"
  import "$files.tar"
  rm -rf "$files" "$files".*
}

start_kubelet() {
  identity node "/O=system:nodes/CN=system:node:$node" extendedKeyUsage=clientAuth
  identity kubelet "/CN=$node" "subjectAltName=IP:$node_address,DNS:$node"
  known_as node
  # Sizes of files are not counted: not every file system can.
  cat >"$state/kubelet.yaml" <<TEXT
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_address
healthzBindAddress: $node_address
authentication: {anonymous: {enabled: false}, x509: {clientCAFile: $COTRAIN_TEST_PKI/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $state/pki/kubelet.crt
tlsPrivateKeyFile: $state/pki/kubelet.key
cgroupDriver: cgroupfs
cgroupRoot: /$network
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
makeIPTablesUtilChains: false
localStorageCapacityIsolation: false
clusterDNS: [$node_address]
clusterDomain: cluster.local
resolvConf: ""
containerRuntimeEndpoint: unix://$state/containerd.sock
podLogsDir: $state/pod-logs
volumePluginDir: $state/volume-plugins
serializeImagePulls: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1%}
syncFrequency: 5s
TEXT
  daemon kubelet "$kube_bin/kubelet" --config "$state/kubelet.yaml" --kubeconfig "$state/pki/node.kubeconfig" \
    --hostname-override $node --node-ip $node_address --root-dir "$state/kubelet" --cert-dir "$state/pki"
}

start_proxy() {
  identity proxy /CN=system:kube-proxy extendedKeyUsage=clientAuth
  known_as proxy
  # The host's connection tracking is left as it is.
  cat >"$state/proxy.yaml" <<TEXT
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: $state/pki/proxy.kubeconfig}
clusterCIDR: $pods
hostnameOverride: $node
bindAddress: $node_address
healthzBindAddress: $node_address:10256
metricsBindAddress: $node_address:10249
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
TEXT
  daemon kube-proxy "$kube_bin/kube-proxy" --config "$state/proxy.yaml"
}

start_dns() {
  cat >"$state/Corefile" <<TEXT
cluster.local:53 in-addr.arpa:53 {
    bind $node_address
    errors
    ready $node_address:8181
    cache 1 {
        disable denial
    }
    kubernetes cluster.local in-addr.arpa {
        kubeconfig $KUBECONFIG
        pods insecure
        ttl 1
    }
}
.:53 {
    bind $node_address
    template ANY ANY {
        rcode NXDOMAIN
    }
}
TEXT
  daemon coredns "$node_bin/coredns" -conf "$state/Corefile"
}

# Logs go with their Pods, and Pods with their failed jobs: other names for the same files stay.
keep_logs() {
  local file name
  while sleep 0.5; do
    for file in "$state/pod-logs/$team"_*/*/*.log; do
      name=${file#"$state/pod-logs/$team"_}
      [ ! -e "$file" ] || ln -f "$file" "$state/kept/${name//\//_}" 2>/dev/null || true
    done
  done
}

start_node() {
  mkdir -p "$state/pki" "$state/logs" "$state/kept"
  start_containerd
  import "$images/pause.tar"
  start_kubelet
  start_proxy
  start_dns
  keep_logs 2>/dev/null &
  until_true 60 'the node' kube wait --for=condition=Ready "node/$node" --timeout=1s
  kube create namespace $team >/dev/null
  until_true 30 CoreDNS curl -sf "http://$node_address:8181/ready"
}
