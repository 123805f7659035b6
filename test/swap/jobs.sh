# The TrainJobs of the swap: one of each policy for each fate. Sourced.
of_team() { kube -n "$team" "$@"; }
# What the reference tells in a status; ours tells more.
readonly told='{.status.conditions} {.status.jobsStatus} {.status.trainerStatus}'

readonly patience=120
# until_true WHAT COMMAND…: for what controllers bring about
until_true() {
  local what=$1 deadline=$((SECONDS + patience))
  shift
  until "$@" >"$work/said" 2>&1; do
    [ $SECONDS -lt $deadline ] || { tail -n 5 "$work/said" "$work/$running.log" >&2; fail "$what: not after $patience s"; }
    sleep 0.1
  done
  passed
}

# Those whose children differ most have every fate, the others what tells one policy from another.
readonly every_fate='torch gang openmpi'
readonly some_fates='end fail wake done lost back-end back-hold back-wake back-turn back-loose new-end new-hold new-wake new-turn new-late'
has_fate() { case " $every_fate $some_fates " in *" $1 "* | *" $2 "*) ;; *) false ;; esac; }
# The reference has an order of a job's own variables beside its own for all policies but XGBoost: there it differs from
# start to start, and it is refused for what it made itself.
env_of() { case $1-$2 in xgboost-wake) ;; xgboost-*) return ;; esac; echo ", env: [{name: FATE, value: $2}]"; }
# "bare": Torch in a job that says nothing of its trainer. Ours gives it the variables of Torch all the same.
trainer_of() { [ "$1" = bare ] || printf ', trainer: {numNodes: 2, command: [train]%s}' "$(env_of "$1" "$2")"; }
runtime_of() { case $1 in bare) echo torch ;; *) echo "$1" ;; esac; }

# manifests SUSPEND FATE…: a job of each policy
manifests() {
  local suspend=$1 policy fate
  shift
  for policy in $policies; do
    for fate in "$@"; do
      has_fate "$policy" "$fate" || continue
      printf -- '---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: %s-%s, labels: {fate: %s}}\n' "$policy" "$fate" "$fate"
      printf 'spec: {runtimeRef: {name: %s}, suspend: %s%s}\n' "$(runtime_of "$policy")" "$suspend" "$(trainer_of "$policy" "$fate")"
    done
  done
}
make() {
  manifests "$@" >"$work/jobs.yaml"
  shift
  of_team create -f "$work/jobs.yaml" >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "jobs are not taken: $*"; }
}

# jobs_of FATE…: trainjob/… of these
jobs_of() { local IFS=,; of_team get trainjobs -l "fate in ($*)" -o name; }
names_of() { jobs_of "$@" | sed 's|.*/||'; }
every_name() { local IFS=$'\n'; names_of "$@" | paste -sd, -; }

# pods_of FATE…: pod/… of their jobs
pods_of() { of_team get pods -l "jobset.sigs.k8s.io/jobset-name in ($(every_name "$@"))" -o name; }
# All Pods of these jobs: two for the nodes, one for a launcher.
pods_are_there() {
  local each pods wanted found
  pods=$(pods_of "$@")
  for each in $(names_of "$@"); do
    case $each in openmpi-*) wanted=3 ;; bare-*) wanted=1 ;; *) wanted=2 ;; esac
    found=$(grep -cE "/$each-(node|launcher)-0-" <<<"$pods" || true)
    [ "$found" = $wanted ] || { echo "$each has $found of $wanted Pods"; return 1; }
  done
}
no_pods() { [ -z "$(pods_of "$@")" ]; }
# no_pods_but POLICIES FATE…: what jobs of these policies do is not looked at
no_pods_but() { local but=$1; shift; ! pods_of "$@" | grep -vE "^pod/($but)-"; }

# running FATE…: all Pods of these jobs are there and ready
run_pods() {
  until_true "Pods of $*" pods_are_there "$@"
  pods_come_to Running "$@"
}
pods_come_to() {
  local phase=$1 pods
  shift
  mapfile -t pods < <(pods_of "$@")
  must "Pods of $*: $phase" of_team patch "${pods[@]}" --subresource=status --type=merge \
    -p '{"status":{"phase":"'"$phase"'","conditions":[{"type":"Ready","status":"'"$([ "$phase" = Running ] && echo True || echo False)"'"}]}}'
}

# become CONDITION FATE…
become() {
  local condition=$1 jobs
  shift
  mapfile -t jobs < <(jobs_of "$@")
  must "$* become $condition" of_team wait "--for=condition=$condition" --timeout=${patience}s "${jobs[@]}"
}
# change PATCH FATE…: of the TrainJobs themselves
change() {
  local patch=$1 jobs
  shift
  mapfile -t jobs < <(jobs_of "$@")
  must "$*: $patch" of_team patch "${jobs[@]}" --type=merge -p "$patch"
}
suspend() { change '{"spec":{"suspend":true}}' "$@"; }
resume() { change '{"spec":{"suspend":false}}' "$@"; }

# end_as PHASE CONDITION FATE…: their Pods end, then they
end_as() {
  local phase=$1 condition=$2
  shift 2
  pods_come_to "$phase" "$@"
  become "$condition" "$@"
}
# drop FATE…: deleted, and all that was theirs goes
drop() {
  local names
  mapfile -t names < <(names_of "$@")
  must "delete $*" of_team delete trainjobs "${names[@]}" --timeout=${patience}s
  until_true "children of $* go" all_gone "${names[@]}"
}
all_gone() {
  of_team get jobsets,configmaps,secrets,podgroups.scheduling.x-k8s.io,pods -o 'jsonpath={range .items[*]}{.metadata.ownerReferences[0].name}{"\n"}{end}' >"$work/owners" || return 1
  ! grep -qxFf <(printf '%s\n' "$@") "$work/owners"
}
