# Kueue admits, holds back, preempts and requeues our jobs: installed by its own chart, from its Go module. Sourced.

# install_kueue MODULE: a directory of build.sh's modules
install_kueue() {
  local module=$1
  import_program "$("$e2e/build.sh" "$module" | tail -n 1)/kueue" "cotrain.test/$module:1"
  # What serves lists of waiting jobs to people is left out: it wants an API server that trusts it.
  helm install kueue "$(chart_of_kueue "$module")" -n kueue-system --create-namespace --timeout 180s --wait \
    --set "controllerManager.manager.image.repository=cotrain.test/$module,controllerManager.manager.image.tag=1" \
    --set controllerManager.manager.image.pullPolicy=Never,controllerManager.readinessProbe.initialDelaySeconds=1 \
    --set 'controllerManager.featureGates[0].name=VisibilityOnDemand,controllerManager.featureGates[0].enabled=false' \
    >"$state/said" 2>&1 || { cat "$state/said" >&2; kube logs -n kueue-system -l control-plane=controller-manager --tail=20 >&2 || true; fail "helm install of $module"; }
  kube delete apiservices -l app.kubernetes.io/name=kueue --ignore-not-found >/dev/null
  kube label node $node cotrain.test/flavor=spot --overwrite >/dev/null
  until_true 60 "$module answers its webhooks" of_team apply --server-side -f "$e2e/jobs/kueue.yaml"
}

# The queue goes before the controller that takes its finalizers off.
uninstall_kueue() {
  of_team delete -f "$e2e/jobs/kueue.yaml" --timeout=60s >"$state/said" 2>&1 || { cat "$state/said" >&2; fail "Kueue's objects stay"; }
  helm uninstall kueue -n kueue-system --wait --timeout 90s >"$state/said" 2>&1 || { cat "$state/said" >&2; fail 'helm uninstall of Kueue'; }
}

# queue NAME [SED…]: a job for the queue
queue() { create queued -e "s/^  name: queued/  name: $1/" "${@:2}"; }
# The Workload's condition says why it waits.
waits() { of_team get workloads -o 'jsonpath={range .items[*]}{.metadata.ownerReferences[0].name} {.status.conditions[?(@.type=="QuotaReserved")].status} {.status.conditions[?(@.type=="QuotaReserved")].message}{"\n"}{end}' | grep "^$1 False .*insufficient"; }
uid_of_pods() { of_team get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o 'jsonpath={.items[*].metadata.uid}'; }

# queueing MODULE WHERE: jobs go through the queue; WHERE is the field of the spec that Kueue writes the flavor's nodes to
queueing() {
  local module=$1 where=$2 field=${2%%[*} began version flavor='{"cotrain.test/flavor":"spot"}' flavors
  # Under the reference the definition has no place for what the older Kueue writes, and the API server drops it.
  if by_reference && [ "$module" = kueue-0.15 ]; then flavor=''; fi
  flavors="$flavor $flavor"
  version=$(version_of sigs.k8s.io/kueue "e2e/$module")
  install_kueue "$module"
  began=$(now)
  queue first
  until_true 120 'first: admitted, its Pods run' runs first 2
  equals "$(field first '{.spec.suspend}')" false 'first: suspend'
  equals "$(field first "{.spec.$where.nodeSelector}")" "$flavor" "first: what Kueue wrote to $where"
  equals "$(of_team get pods -l jobset.sigs.k8s.io/jobset-name=first -o 'jsonpath={.items[*].spec.nodeSelector}')" \
    "${flavors# }" "first: the Pods' nodes"

  queue second
  until_true 60 'second: waits for quota' waits second
  await second Suspended 60
  equals "$(field second '{.spec.suspend}') $(pods_of second)" 'true 0' 'second: while it waits'
  finish first
  await first Complete 60
  until_true 120 'second: runs when first has ended' runs second 2
  if [ -n "$flavor" ]; then
    row "plain, two jobs for a queue with room for one ($field)" "Kueue $version" \
      "the first is admitted with its flavor's nodes, the second stays suspended until the first has ended" "$(since "$began")" 4
  else
    beside "plain, two jobs for a queue with room for one ($field)" \
      "admitted and held back as well, but the flavor's nodes are lost: its CRD has no \`$field\`" "$(since "$began")" 4
  fi

  local before
  before=$(uid_of_pods second)
  began=$(now)
  queue urgent -e 's/queue-name: queue/&, kueue.x-k8s.io\/priority-class: urgent/'
  until_true 120 'urgent: preempts' runs urgent 2
  until_true 60 'second: waits for quota again' waits second
  equals "$(field second '{.spec.suspend}')" true 'second: suspend while it waits again'
  until_true 60 'second: its Pods go' no_pods_of second
  finish urgent
  await urgent Complete 60
  until_true 120 'second: runs again' runs second 2
  [ "$(uid_of_pods second)" != "$before" ] || fail 'second: the same Pods as before preemption'
  finish second
  await second Complete 60
  row "plain, preempted ($field)" "Kueue $version" 'a job of higher priority takes the room at once; the other one is suspended, requeued, admitted again and ends' "$(since "$began")" 6
  local each
  for each in first second urgent; do remove $each; done
  # Kueue 0.15 knows podTemplateOverrides, and the reference does not.
  if [ "$module" != kueue-0.15 ] && ! by_reference; then keeps_overrides "$version"; fi
  until_true 60 'the Workloads go with their jobs' no_workloads
  uninstall_kueue
}

# keeps_overrides VERSION: a job with fields that Kueue's types do not have is admitted, preempted and admitted again
keeps_overrides() {
  local began overrides='podTemplateOverrides: [{targetJobs: [{name: node}], spec: {tolerations: [{key: cotrain.test\/pool, operator: Exists}]}}]'
  began=$(now)
  queue tolerant -e "s/^  trainer:/  ttlSecondsAfterFinished: 3600\n  $overrides\n&/"
  until_true 120 'tolerant: admitted, its Pods run' runs tolerant 2
  equals "$(pools_of tolerant)" 'cotrain.test/pool cotrain.test/pool' 'tolerant: what its Pods tolerate'
  queue pressing -e 's/queue-name: queue/&, kueue.x-k8s.io\/priority-class: urgent/'
  until_true 120 'pressing: preempts' runs pressing 2
  until_true 60 'tolerant: waits for quota again' waits tolerant
  finish pressing
  await pressing Complete 60
  until_true 120 'tolerant: runs again' runs tolerant 2
  equals "$(pools_of tolerant)" 'cotrain.test/pool cotrain.test/pool' 'tolerant: what its Pods tolerate after preemption'
  # Jobs keep what they have when they are suspended and resumed: new ones show what the JobSet says.
  of_team delete jobs -l jobset.sigs.k8s.io/jobset-name=tolerant --cascade=foreground --timeout=60s >/dev/null
  until_true 60 'tolerant: runs in a new Job' runs tolerant 2
  equals "$(pools_of tolerant)" 'cotrain.test/pool cotrain.test/pool' 'tolerant: what the Pods of a new Job tolerate'
  equals "$(field tolerant '{.spec.ttlSecondsAfterFinished} {.spec.podTemplateOverrides[0].spec.tolerations[0].key}')" \
    '3600 cotrain.test/pool' 'tolerant: its fields'
  finish tolerant
  await tolerant Complete 60
  row 'plain with podTemplateOverrides, preempted' "Kueue $1" \
    'Kueue writes the job back without the field at each admission: a new Job has its tolerations all the same' "$(since "$began")" 8
  remove tolerant
  remove pressing
}
pools_of() {
  of_team get pods -l "jobset.sigs.k8s.io/jobset-name=$1" \
    -o 'jsonpath={range .items[*]}{.spec.tolerations[?(@.key=="cotrain.test/pool")].key} {end}' | sed 's/ $//'
}
no_workloads() { [ -z "$(of_team get workloads -o name)" ]; }
check_kueue() { queueing kueue-0.19 'runtimePatches[?(@.manager=="kueue.x-k8s.io/manager")].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec'; }
check_kueue_before() { queueing kueue-0.15 'podTemplateOverrides[0].spec'; }
