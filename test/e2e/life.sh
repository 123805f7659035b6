# What happens to jobs besides training: failures, deletions, deaths of Pods and of the operator. Sourced.

check_failing() {
  local began
  began=$(now)
  create failing
  await failing Failed 120
  local seconds message
  seconds=$(since "$began")
  message=$(field failing '{.status.conditions[?(@.type=="Failed")].message}')
  case $message in *failing-node-0*) ;; *) fail "failing: the message does not name the job: '$message'" ;; esac
  until_true 60 'failing: no Pod runs on' no_active_pods_of failing
  row 'plain, one of 2 nodes exits with 3' '' "Failed: \`$message\`; the other Pod is stopped" "$seconds" 2
  remove failing
}
no_active_pods_of() { [ -z "$(of_team get pods -l "jobset.sigs.k8s.io/jobset-name=$1" --field-selector=status.phase=Running -o name)" ]; }
runs() { [ "$(of_team get pods -l "jobset.sigs.k8s.io/jobset-name=$1" --field-selector=status.phase=Running -o name | wc -l)" = "$2" ]; }

check_deadline() {
  local began
  began=$(now)
  create deadline
  await deadline Failed 60
  local seconds
  seconds=$(since "$began")
  equals "$(field deadline '{.status.conditions[?(@.type=="Failed")].reason}')" DeadlineExceeded 'deadline: the reason'
  until_true 60 'deadline: no Pod is left' no_pods_of deadline
  row 'plain, activeDeadlineSeconds 3' '' 'Failed with DeadlineExceeded; no Pod is left' "$seconds" 2
  remove deadline
}

# The API server refuses for a while what a controller has to do at the deadline.
check_overdue() {
  local began title='plain, past its deadline while the API server refuses to delete its JobSet'
  create overdue
  until_true 60 'overdue: deletions are refused' deletion_is_refused
  await overdue Failed 60
  equals "$(field overdue '{.status.conditions[?(@.type=="Failed")].reason}')" DeadlineExceeded 'overdue: the reason'
  until_true 60 'overdue: its Pods run, since nobody may delete the JobSet' runs overdue 2
  began=$(now)
  kube delete validatingadmissionpolicybinding,validatingadmissionpolicy overdue >/dev/null
  until_true 60 'overdue: deletions are no longer refused' deletion_is_allowed
  if by_reference; then
    looked_at overdue
    runs overdue 2 || fail "overdue under the reference: its Pods do not run on$otherwise"
    beside "$title" 'Failed with DeadlineExceeded, but both Pods run on: it tries once' "$(since "$began")" 2
  else
    until_true 60 'overdue: no Pod is left' no_pods_of overdue
    row "$title" '' 'Failed with DeadlineExceeded; tried until it is done, no Pod is left (seconds: since it is no longer refused)' "$(since "$began")" 2
  fi
  remove overdue
}
deletion_is_refused() { ! of_team delete jobset overdue --dry-run=server && grep -q 'not now' "$state/said"; }
deletion_is_allowed() { of_team delete jobset overdue --dry-run=server || grep -q NotFound "$state/said"; }
# looked_at NAME: whoever is in charge has had every reason to, and the time that another job takes from its creation to its end
looked_at() {
  of_team label trainjob "$1" looked=at >/dev/null
  create plain -e 's/^metadata: {name: plain}/metadata: {name: meanwhile}/;s/plain-node-0-0.plain/meanwhile-node-0-0.meanwhile/'
  await meanwhile Complete 120
  remove meanwhile
}

check_deleted() {
  create endless
  until_true 120 'deleted: its Pods run' runs endless 2
  local began
  began=$(now)
  of_team delete trainjob endless --wait=true --timeout=60s >/dev/null
  until_true 60 'deleted: nothing is left' nothing_left_of endless
  row 'plain, deleted while it runs' '' 'JobSet, Jobs, Pods, Service and ConfigMaps are gone (seconds: since the deletion)' "$(since "$began")" 2
}
nothing_left_of() { [ -z "$(of_team get jobsets,jobs,pods,services,configmaps,secrets -o name | grep -E "/$1(-|$)")" ]; }

# The Pod's place is taken by another; both ranks start anew from the checkpoint.
check_pod_killed() {
  local began
  rm -f "$state/shared/killed"
  began=$(now)
  create suspend -e 's/suspended/killed/g'
  until_true 120 'killed: training' stepped killed 3
  of_team delete pod -l 'jobset.sigs.k8s.io/jobset-name=killed,batch.kubernetes.io/job-completion-index=1' --wait=false >/dev/null
  await killed Complete 180
  local seconds
  seconds=$(since "$began")
  logs_of killed
  different 2 'rank=[01] began=[1-9][0-9]* ended=[0-9]+$' 'killed: both ranks in their second life'
  row 'torch, one of 2 Pods deleted' '' 'Complete: both ranks go on from the checkpoint' "$seconds" 3
  remove killed
}

pods_and_restarts() { of_team get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o 'jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount}{"\n"}{end}' | sort; }
# finish NAME: what endless jobs wait for
finish() {
  local pod
  for pod in $(of_team get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name); do of_team exec "$pod" -c node -- touch /tmp/end; done
}
# With all its replicas.
kill_operator() {
  of_operator delete $(of_operator get pods -l app.kubernetes.io/component=manager -o name) --force --grace-period=0 --wait=false >/dev/null 2>&1
}

# The job ends while there is no operator; the next one sees it.
check_operator_killed() {
  local began before
  began=$(now)
  create endless
  until_true 120 'operator killed: Pods run' runs endless 2
  before=$(pods_and_restarts endless)
  kill_operator
  finish endless
  await endless Complete 120
  local seconds
  seconds=$(since "$began")
  equals "$(pods_and_restarts endless)" "$before" 'operator killed: the Pods of the job'
  of_operator rollout status deployment/$manager --timeout=60s >/dev/null
  row 'plain, the operator is killed' '' "Complete; the job's Pods are the same, never restarted" "$seconds" 2
  remove endless
}

# $leader is the Pod's name
one_leads() {
  leader=$(of_operator get lease trainer.kubeflow.org -o 'jsonpath={.spec.holderIdentity}')
  leader=${leader%%_*}
  [ -n "$leader" ] && of_operator get "pod/$leader"
}
check_two_replicas() {
  local began leader before
  release upgrade --reuse-values --set manager.replicas=2
  until_true 60 'one of them leads' one_leads
  began=$(now)
  of_operator delete "pod/$leader" --force --grace-period=0 --wait=false >/dev/null 2>&1
  create plain -e 's/^metadata: {name: plain}/metadata: {name: taken-over}/;s/plain-node-0-0.plain/taken-over-node-0-0.taken-over/'
  await taken-over Complete 120
  row 'plain, the leader of two is killed' '' 'webhooks answer at once, the other replica takes the job to Complete' "$(since "$began")" "$(pods_had_by taken-over)"
  remove taken-over

  of_operator rollout status deployment/$manager --timeout=120s >/dev/null
  began=$(now)
  create endless
  until_true 120 'both killed: Pods run' runs endless 2
  before=$(pods_and_restarts endless)
  kill_operator
  finish endless
  await endless Complete 120
  equals "$(pods_and_restarts endless)" "$before" 'both killed: the Pods of the job'
  of_operator rollout status deployment/$manager --timeout=120s >/dev/null
  row 'plain, both replicas are killed' '' "Complete; the job's Pods are the same, never restarted" "$(since "$began")" 2
  remove endless
  release upgrade --reuse-values --set manager.replicas=1
}
