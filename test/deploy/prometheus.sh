# A real Prometheus for cluster.sh: Debian's package, unpacked and not installed, since that would start a daemon.
# Sourced; needs fail, must, passed, until_true, free_port, $work and $namespace.

# Sets $prometheus, a directory with prometheus and promtool.
find_prometheus() {
  local cache=${COTRAIN_CACHE:-$HOME/.cache/cotrain}/prometheus
  if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
    prometheus=$(dirname "$(command -v prometheus)")
    return
  fi
  prometheus=$cache/usr/bin
  [ ! -x "$prometheus/promtool" ] || return 0
  mkdir -p "$cache"
  (cd "$cache" && rm -f ./*.deb && apt-get download prometheus && dpkg-deb -x prometheus_*.deb . && rm -f ./*.deb) \
    >"$work/said" 2>&1 || { cat "$work/said" >&2; fail 'Debian'"'"'s package prometheus cannot be had; install it, or bring prometheus and promtool into PATH'; }
}

# check_metrics PORT: scraped with a service account's token, over TLS that the certificate's authority vouches for
check_metrics() {
  local port=$1 at type name
  find_prometheus
  kube create clusterrole scrape --verb=get --non-resource-url=/metrics >/dev/null
  kube create serviceaccount scraper -n team >/dev/null
  kube create clusterrolebinding scrape --clusterrole=scrape --serviceaccount=team:scraper >/dev/null
  kube create token scraper -n team >"$work/scraper.token"
  kube get configmap kubeflow-trainer-webhook-cert -n $namespace -o 'jsonpath={.data.ca\.crt}' >"$work/scraped.ca"
  at=127.0.0.1:$(free_port)
  cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 1s}
rule_files: [$work/rules.yml]
scrape_configs:
- job_name: cotrain
  scheme: https
  authorization: {credentials_file: $work/scraper.token}
  tls_config: {ca_file: $work/scraped.ca, server_name: kubeflow-trainer-controller-manager.$namespace.svc}
  static_configs: [{targets: ['127.0.0.1:$port']}]
END
  sed -n '/^  groups:/,$s/^  //p' deploy/monitoring/prometheus-rule.yaml >"$work/rules.yml"
  must 'the rules' "$prometheus/promtool" check rules "$work/rules.yml"
  "$prometheus/prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/prometheus" --web.listen-address="$at" \
    >"$work/prometheus.log" 2>&1 &
  prometheus_process=$!
  until_true 'Prometheus scrapes the operator' is_up "$at"
  scrape "$port" >"$work/metrics.txt"
  "$prometheus/promtool" check metrics <"$work/metrics.txt" >"$work/said" 2>&1 || true
  must_not_say_about_ours
  # Prometheus asks for OpenMetrics, where a counter's family is called without _total.
  while read -r name type; do
    [ "$(curl -fsS "http://$at/api/v1/metadata?metric=${name%_total}" | grep -o '"type":"[a-z]*"')" = "\"type\":\"$type\"" ] ||
      fail "Prometheus does not know $name as a $type"
    passed
  done <test/deploy/metrics.txt
  kill $prometheus_process
  wait $prometheus_process || { cat "$work/prometheus.log" >&2; fail 'Prometheus did not end well'; }
}
is_up() { [ "$(curl -fsS "http://$1/api/v1/query?query=up" | grep -o '"value":.*"1"')" != '' ]; }
scrape() {
  curl -fsS --cacert "$work/scraped.ca" --resolve "kubeflow-trainer-controller-manager.$namespace.svc:$1:127.0.0.1" \
    -H "Authorization: Bearer $(cat "$work/scraper.token")" "https://kubeflow-trainer-controller-manager.$namespace.svc:$1/metrics"
}
# Names that the ecosystem gave are as they are; of ours nothing may be found.
must_not_say_about_ours() {
  ! grep -E '^cotrain_|error' "$work/said" >&2 || fail 'promtool check metrics'
  passed
}
