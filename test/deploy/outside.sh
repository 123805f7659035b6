# An operator that runs outside of the cluster, its webhooks on a port of loopback. Sourced after common.sh.

kube() { "$COTRAIN_TEST_KUBECTL" "$@"; }
free_port() {
  local each
  for each in $(shuf -i 20000-29999 -n 50); do
    (exec 3<>"/dev/tcp/127.0.0.1/$each") 2>/dev/null || { echo "$each"; return; }
  done
}

# serving_identity DIR: as TMPDIR of an operator, where it looks for the certificate that its webhooks are served with
serving_identity() {
  local certs=$1/k8s-webhook-server/serving-certs each
  mkdir -p "$certs"
  for each in crt key; do cp "$COTRAIN_TEST_PKI/apiserver.$each" "$certs/tls.$each"; done
}

webhooks_answer() {
  [ "$(curl -sk -o /dev/null -w '%{http_code}' "https://127.0.0.1:$port/validate-trainer-kubeflow-org-v1alpha1-trainjob")" != 000 ]
}

# The webhooks by the names that the chart gives them, to the port of loopback: no service leads out of this cluster.
connect_webhooks() {
  local ca
  ca=$(base64 -w 0 "$COTRAIN_TEST_PKI/ca.crt")
  awk -v url="https://127.0.0.1:$port" -v ca="$ca" '
    /^    service:/ { inside = 1; next }
    inside && /^      (name|namespace):/ { next }
    inside && /^      path:/ { print "    url: " url $2; print "    caBundle: " ca; inside = 0; next }
    { print }' deploy/base/webhook/webhooks.yaml | kube apply --server-side --force-conflicts -f -
}
