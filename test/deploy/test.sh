#!/usr/bin/env bash
# What a cluster gets: the chart under many values, the overlays, the runtimes; then all of it against a real API server.
#   test/deploy/test.sh [COTRAIN]   COTRAIN is the program (build/dev/cotrain)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. test/deploy/common.sh
. test/deploy/prometheus.sh
cotrain=${1:-build/dev/cotrain}
PATH=$PATH:/usr/local/go/bin:${COTRAIN_CACHE:-$HOME/.cache/cotrain}/go/bin
[ -x "$cotrain" ] || fail "$cotrain is missing: build it first, or name another"
helm=$(test/deploy/build.sh | tail -n 1)
. tools/dev/versions.sh
bin=$(test/controlplane/build.sh base | tail -n 1)
definitions=$(test/controlplane/build.sh path | tail -n 1)
kubectl=$bin/kubectl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check_chart() {
  local values name
  must 'helm lint' "$helm" lint --strict $chart
  for values in test/deploy/values/*.yaml; do
    name=$(basename "$values" .yaml)
    must "helm lint with $values" "$helm" lint --strict $chart -f "$values"
    render_chart -f "$values" >"$work/$name.yaml" || fail "helm template with $values"
    passed
  done
  for values in test/deploy/refused/*.yaml; do
    must_refuse "$values" "$(sed -n '1s/^# says: //p' "$values")" render_chart -f "$values"
  done
  [ "$(grep -c '^ *image: registry.example.com:5000/mirror/cotrain@sha256:abc$' "$work/everything.yaml")" = 2 ] || fail 'an image by its digest'
  passed
  # Only certificates that others keep are mounted, and no key beside theirs; Prometheus needs no Secret of ours.
  must_not 'a Secret in the Pod' grep -n ' secretName: kubeflow' "$work/default.yaml"
  [ "$(grep -A 5 'secretName: others-cert' "$work/outside.yaml" | grep -o 'key: [a-z.]*' | xargs)" = 'key: ca.crt key: tls.crt key: tls.key' ] ||
    fail 'the keys that are mounted'
  passed
  grep -q 'configMap: {name: kubeflow-trainer-webhook-cert, key: ca.crt}' "$work/everything.yaml" || fail 'what Prometheus reads'
  grep -q 'secret: {name: others-cert, key: ca.crt}' "$work/outside.yaml" || fail "what Prometheus reads of others' certificates"
  passed
  # The configuration, the dashboard, an alert in two lines and what it says.
  [ "$(grep -c 'election.example.com' "$work/everything.yaml")" = 5 ] || fail 'alerts on the Lease by its name'
  passed
}

# kinds FILE: what is rendered there, each kind once a line
kinds() { grep -h '^kind: ' "$1" | sort | uniq -c | awk '{ print $3 "=" $1 }' | xargs; }
# object FILE KIND: the objects of a kind, as they are rendered
object() { awk -v kind="$2" 'BEGIN { RS = "---\n" } $0 ~ "\nkind: " kind "\n"' "$1"; }

# Who is let in, what is asked for, and what is no longer asked for where it is not wanted.
check_boundaries() {
  local policy rules
  policy=$(object "$work/default.yaml" NetworkPolicy)
  [ -n "$policy" ] || fail 'no NetworkPolicy by default'
  must_not 'a way out that is closed by default' grep -q 'Egress' <<<"$policy"
  must_not 'probes in the policy' grep -q 'port: health' <<<"$policy"
  must_not 'progress reports, which are off' grep -q 'port: status-server' <<<"$policy"
  must 'webhooks are let in from everywhere' grep -Pzq '  - ports:\n    - {port: webhook, protocol: TCP}\n  - ports:\n    - {port: metrics, protocol: TCP}\n    from:\n' <<<"$policy"
  must 'progress reports of Pods' grep -Pzq '{port: status-server, protocol: TCP}\n    from:\n    - namespaceSelector: {}\n' <<<"$(object "$work/everything.yaml" NetworkPolicy)"
  policy=$(object "$work/closed.yaml" NetworkPolicy)
  must 'the ways out are DNS and the API server' grep -Pzq 'policyTypes: \[Ingress, Egress\](.|\n)*egress:\n  - ports:\n    - {port: 53, protocol: UDP}\n    - {port: 53, protocol: TCP}\n  - ports:\n    - {port: 6443, protocol: TCP}\n' <<<"$policy"
  must_not 'a scraper that nobody named' grep -q 'port: metrics' <<<"$policy"
  must_not 'a policy that is switched off' object_of_values NetworkPolicy --set networkPolicy.enabled=false
  # Rights.
  rules=$(object "$work/default.yaml" ClusterRole | grep -A3 'resources: \[secrets\]')
  [ "$(grep -c 'verbs: \[create, get, patch\]' <<<"$rules")" = 1 ] || fail "rights to Secrets: $rules"
  must_not 'Secrets where they are not wanted' grep -q 'secrets' <<<"$(object "$work/closed.yaml" '(Cluster)?Role')"
  must_not 'webhook configurations of others' grep -q 'admissionregistration' <<<"$(object "$work/closed.yaml" ClusterRole)"
  must 'webhooks of some namespaces' grep -q 'operator: In, values: \[team\]' "$work/closed.yaml"
  must_not 'a webhook for what is in no namespace' grep -q 'validator.clustertrainingruntime' "$work/closed.yaml"
  must 'the authority of clients' grep -q 'clientCA: /etc/cotrain/client-ca/bundle.pem' "$work/closed.yaml"
  must_not 'a role beyond namespaces' grep -q '^kind: ClusterRole' <<<"$(object "$work/namespaced.yaml" 'ClusterRole(Binding)?')"
  [ "$(kinds "$work/namespaced.yaml")" = 'ConfigMap=3 Deployment=1 NetworkPolicy=1 Pod=1 Role=4 RoleBinding=4 Secret=1 Service=1 ServiceAccount=1' ] ||
    fail "a release for namespaces: $(kinds "$work/namespaced.yaml")"
  passed
}
object_of_values() {
  render_chart "${@:2}" >"$work/config-boundary.yaml"
  object "$work/config-boundary.yaml" "$1" | grep -q .
}

# The operator reads what the chart and the base write.
check_configurations() {
  local name
  for name in $(cd test/deploy/values && ls -- *.yaml | sed 's/\.yaml$//'); do
    sed -n '/^  controller_manager_config.yaml: |/,/^---/{s/^    //p}' "$work/$name.yaml" >"$work/config-$name.yaml"
    must "the configuration and flag of values/$name.yaml" "$cotrain" config --config="$work/config-$name.yaml" \
      "$(grep -o -- '--zap-log-level=.*' "$work/$name.yaml")"
  done
  must 'the configuration of base/manager' "$cotrain" config --config=deploy/base/manager/config.yaml
}

check_overlays() {
  local overlay
  for overlay in manager ha namespaced runtimes data-cache data-cache/namespace kubeflow-platform; do
    "$kubectl" kustomize "deploy/overlays/$overlay" >"$work/overlay-${overlay//\//-}.yaml" 2>"$work/said" ||
      { cat "$work/said" >&2; fail "overlays/$overlay"; }
    passed
  done
  must_not "overlays that enforce something on others' Pods" grep -l 'pod-security.kubernetes.io/enforce' "$work"/overlay-*.yaml
  for overlay in manager ha namespaced kubeflow-platform; do
    must "a policy in overlays/$overlay" grep -q '^kind: NetworkPolicy$' "$work/overlay-$overlay.yaml"
  done
  must_not 'rights beyond the namespace' grep -q '^kind: Cluster' "$work/overlay-namespaced.yaml"
  with_component monitoring deploy/monitoring
  with_component without-secrets deploy/components/without-secrets
  must_not 'Secrets of others' grep -q '^  - secrets$' <<<"$(object "$work/component-without-secrets.yaml" ClusterRole)"
  with_component without-explanations deploy/components/without-explanations
  must_not 'Pods of jobs' grep -q '^  - pods$' <<<"$(object "$work/component-without-explanations.yaml" ClusterRole)"
  with_component external-certificates deploy/components/external-certificates
  must_not 'webhook configurations' grep -q 'admissionregistration' <<<"$(object "$work/component-external-certificates.yaml" ClusterRole)"
  must_not 'the Secret of a certificate' grep -q '^  - secrets$' <<<"$(object "$work/component-external-certificates.yaml" Role)"
  must 'certificates of others' grep -Pzq 'certManagement:\n      enable: false\n' "$work/component-external-certificates.yaml"
  with_component workload-scheduling deploy/components/workload-scheduling
  must_not "rights to gangs of Kubernetes' own" grep -q 'workloads, podgroups' "$work/default.yaml" "$work/overlay-manager.yaml"
  # A component changes what it is for, and nothing else.
  [ "$(diff "$work/overlay-manager.yaml" "$work/component-workload-scheduling.yaml" | grep -c '^[<>]')" = 11 ] || fail 'workload-scheduling changes other things'
  [ "$(diff "$work/overlay-manager.yaml" "$work/component-without-secrets.yaml" | grep -c '^[<>]')" = 8 ] || fail 'without-secrets changes other things'
  [ "$(diff "$work/overlay-manager.yaml" "$work/component-without-explanations.yaml" | grep -c '^[<>]')" = 18 ] || fail 'without-explanations changes other things'
  passed
}
# with_component NAME DIRECTORY: overlays/manager with it
with_component() {
  mkdir "$work/monitored-$1"
  printf 'resources: [%s]\ncomponents: [%s]\nnamespace: kubeflow-system\n' "$(realpath --relative-to="$work/monitored-$1" deploy/overlays/manager)" \
    "$(realpath --relative-to="$work/monitored-$1" "$2")" >"$work/monitored-$1/kustomization.yaml"
  must "the component $1" "$kubectl" kustomize "$work/monitored-$1"
  cp "$work/said" "$work/component-$1.yaml"
}

# Every runtime is accepted, and a TrainJob on it comes out as a JobSet.
check_runtimes() {
  local wanted count
  wanted=$(find deploy/runtimes -name '*-*.yaml' | wc -l)
  must 'the runtimes are valid' "$cotrain" validate -f deploy/runtimes -f deploy/runtimes/data-cache
  sed -n '/^  runtimes.yaml: |/,/^---/{s/^    //p}' "$work/everything.yaml" >"$work/config-runtimes.yaml"
  must 'the runtimes of the chart are valid' "$cotrain" validate -f "$work/config-runtimes.yaml"
  count=$(grep -c '^kind: ClusterTrainingRuntime$' "$work/config-runtimes.yaml")
  [ "$count" = "$wanted" ] || fail "the chart brings $count of $wanted runtimes"
  passed
  must 'TrainJobs on the runtimes' "$cotrain" render -f deploy/runtimes -f deploy/runtimes/data-cache -f test/deploy/jobs.yaml -o json
  count=$(grep -c '"kind":"JobSet"' "$work/said")
  [ "$count" = "$wanted" ] || fail "test/deploy/jobs.yaml makes $count JobSets on $wanted runtimes"
  passed
}

# The chart of the trainer that ours takes the place of, with JobSet as its subchart; LeaderWorkerSet is not fetched.
reference_chart() {
  local from
  from=$(module_files github.com/kubeflow/trainer/v2)
  cp -r --no-preserve=mode "${from:?the module of the reference cannot be had}/charts/kubeflow-trainer" "$work/reference"
  from=$(module_files sigs.k8s.io/jobset)
  mkdir "$work/reference/charts"
  cp -r --no-preserve=mode "${from:?the module of JobSet cannot be had}/charts/jobset" "$work/reference/charts"
  # In the source it has no version of its own.
  sed -i "s/^version: .*/version: $(sed -n '/^- name: jobset/,/version/s/^  version: //p' "$work/reference/Chart.yaml")/" \
    "$work/reference/charts/jobset/Chart.yaml"
  sed -i '/^- name: lws/,/^  condition:/d' "$work/reference/Chart.yaml"
}

check_chart
check_boundaries
check_configurations
check_overlays
check_runtimes
check_monitoring
reference_chart
"$bin/controlplane" exec --audit --with kcm --crds "$definitions/jobset.yaml" --crds "$definitions/podgroup-scheduler-plugins.yaml" -- \
  test/deploy/cluster.sh "$helm" "$kubectl" "$(realpath "$cotrain")" "$work" "$checks"
