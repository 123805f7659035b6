# Alerts and dashboard under promtool, for test.sh; and a real Prometheus for cluster.sh: Debian's package, unpacked and
# not installed, since that would start a daemon.
# Sourced; needs fail, must, passed and $work; check_metrics until_true, free_port and $namespace, too.

# check_monitoring: each alert fires where it has to and is silent where not; each query of the dashboard is one.
check_monitoring() {
  promtool=$(test/deploy/promtool/build.sh | tail -n 1)
  mkdir "$work/alerts"
  sed -n '/^  groups:/,$s/^  //p' deploy/monitoring/prometheus-rule.yaml >"$work/alerts/rules.yml"
  must 'the rules' "$promtool" check rules "$work/alerts/rules.yml"
  cp test/deploy/alerts.yaml "$work/alerts"
  must 'the alerts' "$promtool" test rules "$work/alerts/alerts.yaml"
  {
    printf 'groups:\n- name: panels\n  rules:\n'
    grep -oE '"expr": "([^"\\]|\\.)*"' deploy/monitoring/cotrain.json |
      sed 's/^"expr": //; s/\$__rate_interval/5m/g; s/\$\(cluster\|namespace\)/.*/g' |
      awk '{ print "  - {record: \"panel:" NR "\", expr: " $0 "}" }'
  } >"$work/alerts/panels.yml"
  must 'the queries of the dashboard' "$promtool" check rules "$work/alerts/panels.yml"
  [ "$(grep -c 'record: "panel:' "$work/alerts/panels.yml")" -ge 30 ] || fail 'the queries of the dashboard were not found'
  passed
}

# asked_metrics: what rules and dashboard read, by name
asked_metrics() {
  grep -ohE '\b(cotrain|controller_runtime|workqueue|rest_client|leader_election|process)_[a-z_0-9]+' "$work/alerts/rules.yml" "$work/alerts/panels.yml" | sort -u
}

# Sets $prometheus, a directory with the program.
find_prometheus() {
  local cache=${COTRAIN_CACHE:-$HOME/.cache/cotrain}/prometheus
  if command -v prometheus >/dev/null; then
    prometheus=$(dirname "$(command -v prometheus)")
    return
  fi
  prometheus=$cache/usr/bin
  [ ! -x "$prometheus/prometheus" ] || return 0
  mkdir -p "$cache"
  (cd "$cache" && rm -f ./*.deb && apt-get download prometheus && dpkg-deb -x prometheus_*.deb . && rm -f ./*.deb) \
    >"$work/said" 2>&1 || { cat "$work/said" >&2; fail 'Debian'"'"'s package prometheus cannot be had; install it, or bring prometheus into PATH'; }
}

# check_metrics PORT: scraped with a service account's token, over TLS that the certificate's authority vouches for
check_metrics() {
  local port=$1 at type name promtool
  promtool=$(test/deploy/promtool/build.sh | tail -n 1)
  find_prometheus
  kube create clusterrole scrape --verb=get --non-resource-url=/metrics >/dev/null
  kube create serviceaccount scraper -n team >/dev/null
  kube create clusterrolebinding scrape --clusterrole=scrape --serviceaccount=team:scraper >/dev/null
  kube create token scraper -n team >"$work/scraper.token"
  kube get configmap kubeflow-trainer-webhook-cert -n $namespace -o 'jsonpath={.data.ca\.crt}' >"$work/scraped.ca"
  at=127.0.0.1:$(free_port)
  cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 1s}
rule_files: [$work/alerts/rules.yml]
scrape_configs:
- job_name: cotrain
  scheme: https
  authorization: {credentials_file: $work/scraper.token}
  tls_config: {ca_file: $work/scraped.ca, server_name: kubeflow-trainer-controller-manager.$namespace.svc}
  static_configs: [{targets: ['127.0.0.1:$port']}]
END
  "$prometheus/prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/prometheus" --web.listen-address="$at" \
    >"$work/prometheus.log" 2>&1 &
  prometheus_process=$!
  until_true 'Prometheus scrapes the operator' is_up "$at"
  scrape "$port" >"$work/metrics.txt"
  "$promtool" check metrics <"$work/metrics.txt" >"$work/said" 2>&1 || true
  must_not_say_about_ours
  # Every series is there from the start, so nothing that is asked for may be missing.
  while read -r name; do
    grep -qE "^$name[{ ]" "$work/metrics.txt" || fail "rules or dashboard ask for $name, which the operator does not have"
    passed
  done < <(asked_metrics)
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
