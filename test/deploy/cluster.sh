#!/usr/bin/env bash
# The part of test.sh that needs an API server; KUBECONFIG leads to one of its own, whose objects nobody misses.
set -euo pipefail
. test/deploy/common.sh
. test/deploy/prometheus.sh
helm=$1 kubectl=$2 cotrain=$3 work=$4 checks=$5
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm HELM_NAMESPACE=$namespace

kube() { "$kubectl" "$@"; }
# until_true WHAT COMMAND…: for what controllers bring about
until_true() {
  local what=$1 deadline=$((SECONDS + 180))
  shift
  until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $deadline ] || fail "$what: not after 180 s"; done
  passed
}
restrict() { kube label --overwrite namespace "$1" pod-security.kubernetes.io/{enforce,warn}=restricted; }
can() { [ "$(kube auth can-i "$@" 2>/dev/null)" = yes ]; }
operator=system:serviceaccount:$namespace:kubeflow-trainer-controller-manager

check_definitions() {
  must 'client-side apply of the definitions' kube apply -f deploy/crds
  quiet 'server-side apply of the definitions' kube apply --server-side --force-conflicts -f deploy/crds
  until_true 'the definitions are served' kube get clustertrainingruntimes,trainingruntimes,trainjobs -A
}

# What the API server says of all that chart and overlays come to.
check_accepted() {
  local file
  kube create namespace $namespace
  kube create namespace kubeflow
  kube create namespace leases
  kube create namespace team
  kube create namespace team-b
  for each in $namespace kubeflow; do restrict $each; done
  # The Pod of `helm test` is admitted only beside its account, which a dry run does not make.
  kube create serviceaccount kubeflow-trainer-controller-manager -n $namespace
  for file in "$work"/*.yaml; do
    case $(basename "$file") in config-* | component-monitoring*) continue ;; esac
    quiet "$(basename "$file")" kube apply --server-side --dry-run=server -f <(without_monitoring "$file")
  done
  kube delete serviceaccount kubeflow-trainer-controller-manager -n $namespace
}
# No Prometheus operator is there to define these.
without_monitoring() { awk 'BEGIN { RS = "\n---\n"; ORS = RS } !/\napiVersion: monitoring\.coreos\.com/' <(echo; cat "$1"); }

check_rights() {
  must 'the operator may apply JobSets' can patch jobsets.jobset.x-k8s.io -n team --as $operator
  must 'the operator may delete PodGroups' can delete podgroups.scheduling.x-k8s.io -n team --as $operator
  must 'the operator may write status' can patch trainjobs --subresource=status -n team --as $operator
  must 'the operator may read its certificate' can get secret/kubeflow-trainer-webhook-cert -n $namespace --as $operator
  must 'the operator may renew its Lease' can update lease/trainer.kubeflow.org -n $namespace --as $operator
  must 'the operator may ask for a Secret of a job' can get secret/job-mpi-ssh-auth -n team --as $operator
  for verb in list watch update delete; do
    must_not "others' secrets: $verb" can $verb secrets -n team --as $operator
  done
  must_not "others' webhooks" can update mutatingwebhookconfiguration/other --as $operator
  must 'the operator may list Pods that failed' can list pods -n team --as $operator
  must 'the operator may list Events' can list events.events.k8s.io -n team --as $operator
  must_not 'Pods' can create pods -n team --as $operator
  must_not 'a watch of Pods' can watch pods -n team --as $operator
  until_true 'edit covers TrainJobs' user_can edit create trainjobs.trainer.kubeflow.org
  until_true 'view covers TrainJobs' user_can view list trainjobs.trainer.kubeflow.org
  until_true 'admin covers runtimes' user_can admin create trainingruntimes.trainer.kubeflow.org
  must_not 'view creates nothing' user_can view create trainjobs.trainer.kubeflow.org
  must_not 'edit makes no runtimes' user_can edit create trainingruntimes.trainer.kubeflow.org
}
user_can() { can "$2" "$3" -n team --as "user-$1"; }

# run_job NAME CONTAINERS: what the first of these containers of a hook's job does, with the job's rights
run_job() {
  local args
  "$helm" get hooks kubeflow-trainer | awk -v name="  name: $1" 'BEGIN { RS = "---\n" } index($0, name "\n")' >"$work/config-job.yaml"
  mapfile -t args < <(kube create --dry-run=client -f "$work/config-job.yaml" \
    -o "jsonpath={range .spec.template.spec.$2[0].args[*]}{@}{'\n'}{end}" | sed "s#^/runtimes/#$work/config-#")
  [ ${#args[@]} != 0 ] || return 1
  kube --as=system:serviceaccount:$namespace:kubeflow-trainer-runtimes-installer "${args[@]}"
}
install_runtimes() {
  kube get configmap kubeflow-trainer-runtimes-installer -n $namespace -o 'jsonpath={.data.runtimes\.yaml}' >"$work/config-runtimes.yaml"
  must 'the installer applies' run_job kubeflow-trainer-runtimes-installer initContainers
  must 'the installer prunes' run_job kubeflow-trainer-runtimes-installer containers
}

# The chart on an empty cluster, over itself, and away again. No kubelet runs the jobs of hooks: run_job does.
check_release() {
  local install=("$helm" upgrade --install kubeflow-trainer $chart --no-hooks)
  kube delete -f deploy/crds --wait >/dev/null
  for each in view edit admin; do kube create rolebinding "user-$each" -n team --clusterrole=$each --user="user-$each"; done
  must 'helm install' "${install[@]}" --set runtimes.defaultEnabled=true,manager.replicas=2
  until_true 'the definitions are served' kube get clustertrainingruntimes,trainingruntimes,trainjobs -A
  install_runtimes
  must 'runtimes are there' kube get clustertrainingruntimes torch-distributed mlx-distributed torchtune-qwen2.5-1.5b
  check_rights
  kube get clusterrole kubeflow-trainer-controller-manager -o 'jsonpath={.rules}' >"$work/chart.rules"
  kube patch secret kubeflow-trainer-webhook-cert -n $namespace -p '{"data":{"ca.crt":"Y2E="}}'
  kube apply --server-side -f - <<<'{apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime, metadata: {name: own, labels: {trainer.kubeflow.org/webhook-validation: disabled}}, spec: {mlPolicy: {numNodes: 1}, template: {spec: {replicatedJobs: []}}}}'
  must 'helm upgrade' "${install[@]}" --set runtimes.torchDistributed.enabled=true,manager.logLevel=1
  [ "$(kube get secret kubeflow-trainer-webhook-cert -n $namespace -o 'jsonpath={.data.ca\.crt}')" = Y2E= ] ||
    fail 'helm upgrade: took the certificate away'
  install_runtimes
  [ "$(kube get clustertrainingruntimes -o name | sort | xargs)" = \
    'clustertrainingruntime.trainer.kubeflow.org/own clustertrainingruntime.trainer.kubeflow.org/torch-distributed' ] ||
    fail "helm upgrade: left $(kube get clustertrainingruntimes -o name | xargs)"
  must 'the runtimes go before the release' run_job kubeflow-trainer-runtimes-installer-cleanup containers
  must 'helm uninstall' "$helm" uninstall --no-hooks kubeflow-trainer
  must 'the definitions stay, and what is not ours' kube get clustertrainingruntimes own
  must_refuse 'our runtimes' 'not found' kube get clustertrainingruntimes torch-distributed
}

# The operator itself with nothing but the rights that the release gives its account.
start_operator() {
  metrics_port=$(free_port)
  cp "$KUBECONFIG" "$work/account"
  kube --kubeconfig "$work/account" config set-credentials account --token="$(kube create token kubeflow-trainer-controller-manager -n $namespace)"
  kube --kubeconfig "$work/account" config set-context --current --user=account --namespace=$namespace
  kube get configmap kubeflow-trainer-config -n $namespace -o 'jsonpath={.data.controller_manager_config\.yaml}' |
    sed -E 's/(healthProbeBindAddress): .*/\1: "0"/; s/(bindAddress): .*/\1: "127.0.0.1:'"$metrics_port"'"/; s/port: 9443/port: '"$(free_port)"'/' >"$work/config-operator.yaml"
  "$cotrain" operator --kubeconfig "$work/account" --config="$work/config-operator.yaml" 2>"$work/operator.log" &
  operator_process=$!
}
stop_operator() {
  kill "$operator_process"
  wait "$operator_process" || { cat "$work/operator.log" >&2; fail 'the operator did not end well'; }
}
free_port() {
  local port
  for port in $(shuf -i 20000-29999 -n 50); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}
is_gone() { ! kube get "$@" >/dev/null 2>"$work/gone" && grep -q NotFound "$work/gone"; }
reads() { [ -n "$(kube get "$@")" ]; }
# The operator's requests that were answered with 403.
refused_requests() {
  grep -F "\"username\":\"$operator\"" "$COTRAIN_TEST_AUDIT" >"$work/asked" || fail 'the audit log knows nothing of the operator'
  grep -F '"code":403' "$work/asked" | grep -o '"verb":"[a-z]*"\|"requestURI":"[^"]*"' | paste - - | sort -u
}

# A TrainJob with all kinds of children, made while it is suspended, to its deadline. Webhooks are ignored: nobody finds the service.
check_operator() {
  must 'helm install' "$helm" install kubeflow-trainer $chart --no-hooks --set webhook.failurePolicy=Ignore,webhook.timeoutSeconds=1,manager.config.metrics.authentication=true \
    --set manager.config.leaderElection.leaseDuration=120s,manager.config.leaderElection.renewDeadline=90s
  until_true 'the definitions are served' kube get trainingruntimes,trainjobs -A
  must 'a runtime with an old finalizer, and a job' kube apply -n team -f test/deploy/operated.yaml
  start_operator
  until_true 'the JobSet' kube get jobset operated -n team
  until_true 'its PodGroup' kube get podgroups.scheduling.x-k8s.io operated -n team
  until_true 'its Secret' kube get secret operated-mpi-ssh-auth -n team
  until_true 'the finalizer is gone' is_gone_from trainingruntime operated '{.metadata.finalizers}'
  until_true 'the certificate' reads secret kubeflow-trainer-webhook-cert -n $namespace -o 'jsonpath={.data.tls\.crt}'
  until_true 'its authority' reads mutatingwebhookconfiguration defaulter.trainer.kubeflow.org -o 'jsonpath={.webhooks[0].clientConfig.caBundle}'
  check_metrics "$metrics_port"
  must 'the job is resumed' kube patch trainjob operated -n team --type=merge -p '{"spec":{"suspend":false}}'
  until_true 'the deadline' kube wait --for=condition=Failed --timeout=20s trainjob/operated -n team
  until_true 'the JobSet goes' is_gone jobset operated -n team
  until_true 'the PodGroup goes' is_gone podgroups.scheduling.x-k8s.io operated -n team
  until_true 'the Lease' kube get lease trainer.kubeflow.org -n $namespace
  stop_operator
  [ -z "$(refused_requests)" ] || fail "the operator may not: $(refused_requests)"
  must 'the end of it' "$helm" uninstall kubeflow-trainer --no-hooks
}
is_gone_from() { [ -z "$(kube get "$1" "$2" -n team -o "jsonpath=$3")" ]; }

# The operator of two namespaces, with Roles there and no right to anything else.
check_namespaced() {
  must 'the definitions, not by Helm' kube apply -f deploy/crds
  until_true 'the definitions are served' kube get trainingruntimes,trainjobs -A
  must 'helm install' "$helm" install kubeflow-trainer $chart --no-hooks -f test/deploy/values/namespaced.yaml
  must_not 'TrainJobs of others' can list trainjobs.trainer.kubeflow.org -n default --as $operator
  must_not 'what belongs to no namespace' can list clustertrainingruntimes.trainer.kubeflow.org --as $operator
  must_not "others' Secrets" can get secrets -n default --as $operator
  before=$(refused_requests || true)
  start_operator
  must 'a job in one of them' kube apply -n team-b -f test/deploy/operated.yaml
  must 'a job elsewhere' kube apply -n default -f test/deploy/operated.yaml
  until_true 'the JobSet' kube get jobset operated -n team-b
  until_true 'its Secret' kube get secret operated-mpi-ssh-auth -n team-b
  until_true 'the certificate' reads secret kubeflow-trainer-webhook-cert -n $namespace -o 'jsonpath={.data.tls\.crt}'
  must 'the job is resumed' kube patch trainjob operated -n team-b --type=merge -p '{"spec":{"suspend":false}}'
  until_true 'the deadline' kube wait --for=condition=Failed --timeout=20s trainjob/operated -n team-b
  until_true 'the JobSet goes' is_gone jobset operated -n team-b
  is_gone jobset operated -n default || fail 'a job elsewhere was worked on'
  stop_operator
  comm -13 <(printf '%s\n' "$before") <(refused_requests) >"$work/refused"
  must_not 'requests beyond the namespaces' grep -v 'clustertrainingruntimes\|runtimeclasses\|priorityclasses' "$work/refused"
  kube patch trainingruntime operated -n default --type=merge -p '{"metadata":{"finalizers":null}}'
  must 'the end of it' "$helm" uninstall kubeflow-trainer --no-hooks
  kube delete -f deploy/crds --wait >/dev/null
}

# A release of the chart that ours takes the place of, JobSet with it, upgraded to ours, and back.
check_swap() {
  local theirs="$work/reference" selector
  local upgrade=("$helm" upgrade kubeflow-trainer --no-hooks)
  kube delete -f deploy/crds --wait --ignore-not-found >/dev/null
  must 'the reference is installed' "$helm" install kubeflow-trainer "$theirs" --no-hooks --set runtimes.defaultEnabled=true
  selector=$(operator_selector)
  must_refuse 'an upgrade that loses JobSet' 'would remove Deployment jobset-controller' "${upgrade[@]}" $chart --reset-then-reuse-values
  must 'what subcharts brought is kept' keep_subcharts
  must_refuse "values of the other chart's defaults" '--reset-then-reuse-values' "${upgrade[@]}" $chart --reuse-values
  must 'ours takes its place' "${upgrade[@]}" $chart --reset-then-reuse-values
  [ "$(operator_selector)" = "$selector" ] || fail "selectors changed: $(operator_selector)"
  must 'JobSet is there' kube get deployment/jobset-controller service/jobset-webhook-service -n $namespace
  must 'and back' "${upgrade[@]}" "$theirs" --reset-then-reuse-values
  must_not 'our roles, where theirs rules' kube get clusterrole kubeflow-trainer-edit
  must 'and again' "${upgrade[@]}" $chart --reset-then-reuse-values
  must 'and back for the end' "${upgrade[@]}" "$theirs" --reset-then-reuse-values
  must 'the end of it' "$helm" uninstall kubeflow-trainer --no-hooks
  must 'their definitions go with it' kube wait --for=delete -f deploy/crds --timeout=60s
}
# As docs/migrate.md has it.
keep_subcharts() {
  "$helm" get manifest kubeflow-trainer | awk 'BEGIN { RS = "---\n"; ORS = RS } /# Source: [^\n]*\/charts\//' |
    kube annotate -n $namespace -f - helm.sh/resource-policy=keep
}

# The same where the definitions are not the release's, as with charts before v2.3.0, nor is JobSet.
check_swap_of_parts() {
  local values=crds.enabled=false,jobset.install=false
  must 'the definitions, not by Helm' kube apply -f deploy/crds
  must 'the reference is installed' "$helm" install kubeflow-trainer "$work/reference" --no-hooks --set $values
  must_refuse 'definitions of others' 'cannot be imported' "$helm" upgrade kubeflow-trainer $chart --no-hooks --reset-values
  must 'the definitions are taken over' "$helm" upgrade kubeflow-trainer $chart --no-hooks --reset-values --take-ownership
  must 'and back' "$helm" rollback kubeflow-trainer 1 --no-hooks
  must 'the definitions stay' kube get crd trainjobs.trainer.kubeflow.org
  must 'the end of it' "$helm" uninstall kubeflow-trainer --no-hooks
}

# Another chart's release, whose own Deployments are not ours to judge.
check_dependency() {
  local umbrella="$work/umbrella" release=(kubeflow-trainer "$work/umbrella" --no-hooks --set cotrain.crds.enabled=false)
  mkdir -p "$umbrella/charts" "$umbrella/templates"
  cp -rL $chart "$umbrella/charts/cotrain"
  echo '{apiVersion: v2, name: umbrella, version: 0.1.0}' >"$umbrella/Chart.yaml"
  kube create deployment other --image=registry.example.com/other -n $namespace --dry-run=client -o yaml >"$umbrella/templates/other.yaml"
  must 'a chart that has ours as a dependency' "$helm" install "${release[@]}"
  must 'its upgrade' "$helm" upgrade "${release[@]}" --set cotrain.manager.replicas=2
  must 'what is its own' kube get deployment other -n $namespace
  must 'the end of it' "$helm" uninstall kubeflow-trainer --no-hooks
}
operator_selector() { kube get deployment kubeflow-trainer-controller-manager -n $namespace -o 'jsonpath={.spec.selector}'; }

# The overlays on the same cluster, where the chart has been.
check_overlays() {
  quiet 'overlays/manager' kube apply --server-side --force-conflicts -f "$work/overlay-manager.yaml"
  kube get clusterrole kubeflow-trainer-controller-manager -o 'jsonpath={.rules}' >"$work/overlay.rules"
  must 'chart and base give the operator the same rights' diff "$work/chart.rules" "$work/overlay.rules"
  # Nobody answers the webhooks here: only what is labelled passes.
  quiet 'overlays/runtimes' kube apply --server-side --force-conflicts -f "$work/overlay-runtimes.yaml"
  must_refuse 'a runtime without the label' 'validator.clustertrainingruntime.trainer.kubeflow.org' \
    kube label clustertrainingruntime torch-distributed trainer.kubeflow.org/webhook-validation-
}

check_definitions >&2
check_accepted >&2
check_release >&2
check_operator >&2
check_namespaced >&2
check_swap >&2
check_swap_of_parts >&2
check_dependency >&2
check_overlays >&2
printf 'test/deploy: %s checks passed\n' "$checks"
