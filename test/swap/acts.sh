# What happens in the swap, in order. Sourced by scene.sh.

# What is over stays as it is, in the words of both.
over() { local IFS=,; of_team get trainjobs -l "fate in ($*)" -o "jsonpath={range .items[*]}{.metadata.name} $told{\"\\n\"}{end}"; }
remember() { over "$@" >"$work/over.$1"; }
unchanged() {
  over "$@" >"$work/over"
  must "$*: are as they were" diff "$work/over.$1" "$work/over"
}
# The same with conditions in any order: the reference takes Failed away and puts it back whenever it looks at a job.
unchanged_but_in_order() {
  over "$@" >"$work/over"
  must "$*: are as they were" diff <(parts_sorted <"$work/over.$1") <(parts_sorted <"$work/over")
}
parts_sorted() {
  local job status
  while read -r job status; do printf '%s %s\n' "$job" "$(sed -E 's/[][{},]+"/\n"/g; s/[]}]+/\n/g' <<<"$status" | sort | tr '\n' ' ')"; done
}

under_the_reference() {
  make false end fail hold patch kill back-end back-fail back-hold back-kill done done-drop lost lost-drop
  make true wake turn due keep drop back-wake back-drop back-turn back-loose
  make_refused
  run_pods end fail hold patch kill back-end back-fail back-hold back-kill done done-drop lost lost-drop
  end_as Succeeded Complete done done-drop
  end_as Failed Failed lost lost-drop
  become Suspended wake turn due keep drop back-wake back-drop back-turn back-loose
  say "$(of_team get trainjobs -o name | wc -l) jobs under the reference: running, suspended, finished, failed"
  remember done
  remember lost
}

# Jobs that the reference takes and rules of ours would refuse, were they new; and one of no nodes.
make_refused() {
  cat >"$work/refused.yaml" <<'TEXT'
{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: no-nodes, labels: {fate: refused}}, spec: {runtimeRef: {name: torch}, suspend: true, trainer: {numNodes: 0}}}
---
{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: no-processes, labels: {fate: refused}}, spec: {runtimeRef: {name: torch}, trainer: {numProcPerNode: 0}}}
---
{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: no-such-job, labels: {fate: refused}}, spec: {runtimeRef: {name: plain}, runtimePatches: [{manager: test.example/swap,
  trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: nowhere, template: {spec: {template: {spec: {nodeSelector: {a: b}}}}}}]}}}}]}}
TEXT
  must 'the reference takes what ours would refuse' of_team create -f "$work/refused.yaml"
  until_true 'JobSets of two' of_team get jobsets no-nodes no-processes
}
change_refused() {
  local each
  for each in no-processes no-such-job; do
    must_refuse "$each, were it new" denied of_team create --dry-run=server -f <(sed "s/name: $each,/name: new-$each,/" "$work/refused.yaml" | awk -v RS='---\n' "/name: new-$each,/")
  done
  must 'a label on the old ones' of_team label trainjobs -l fate=refused swapped=true
  change '{"spec":{"suspend":true}}' refused
  change '{"metadata":{"finalizers":["test.example/hold"]}}' refused
  must 'deletion begins' of_team delete trainjobs -l fate=refused --wait=false
  change '{"metadata":{"finalizers":null}}' refused
  until_true 'the old ones go' none_of refused
}
none_of() { [ -z "$(jobs_of "$@")" ]; }

# Every transition of jobs that the other controller made; $1 tells its jobs from those of the way back.
transitions() {
  local p=$1
  end_as Succeeded Complete "${p}end"
  end_as Failed Failed "${p}fail"
  suspend "${p}hold"
  become Suspended "${p}hold"
  until_true 'suspended jobs have no Pods' no_pods "${p}hold"
  resume "${p}hold" "${p}wake"
  run_pods "${p}hold" "${p}wake"
  end_as Succeeded Complete "${p}hold" "${p}wake"
  drop "${p}kill" "${p}drop"
}

# A patch while suspended reaches the Pods, and no longer does when it is taken back.
select_nodes() {
  change '{"spec":{"runtimePatches":[{"manager":"test.example/swap","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{"nodeSelector":{"swapped":"yes"}}}}}}]}}}}]}}' "$@"
}
select_none() { change '{"spec":{"runtimePatches":null}}' "$@"; }
# resumed_on yes|no FATE…: whether their nodes are selected
resumed_on() {
  local wanted=$1 jobs
  shift
  resume "$@"
  run_pods "$@"
  mapfile -t jobs < <(pods_of "$@")
  of_team get "${jobs[@]}" -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.nodeSelector.swapped}{"\n"}{end}' >"$work/nodes"
  [ "$(grep -v launcher "$work/nodes" | grep -c ' yes$')" = "$([ "$wanted" = no ] && echo 0 || grep -vc launcher "$work/nodes")" ] ||
    { cat "$work/nodes" >&2; fail "$*: their Pods are not as patched"; }
  passed
}
are_selected() { [ "$(of_team get jobsets -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.replicatedJobs[*].template.spec.template.spec.nodeSelector.swapped}{"\n"}{end}' | grep -cE "^[a-z]+-$1 yes")" = "$(names_of "$1" | wc -l)" ]; }

# What only ours is asked: deadlines, jobs that are over.
more_transitions() {
  must 'labels and annotations' of_team annotate trainjobs -l 'fate in (patch,keep,done,lost)' test.example/swapped=true
  select_nodes turn back-loose
  until_true 'JobSets of back-loose: the patch' are_selected back-loose
  resumed_on yes turn
  end_as Succeeded Complete turn
  change '{"spec":{"activeDeadlineSeconds":1}}' due
  resume due
  become Failed due
  drop done-drop lost-drop
  suspend lost
  resume lost
  suspend patch
  become Suspended patch
  drop patch
}

# Jobs that ours made, under theirs. What ours adds, JobSet refuses theirs to take away, until it has a second owner.
readonly with_additions='openmpi|bare'
hand_back() { "$ours" hand-back --kubeconfig "$KUBECONFIG" "$@"; }
specs() { of_team get jobsets -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.generation} {.spec}{"\n"}{end}'; }
refused_for() {
  of_team get events.events.k8s.io -o 'jsonpath={range .items[*]}{.regarding.name} {.reason}{"\n"}{end}' | sort -u >"$work/refused"
  local each
  for each in "$@"; do grep -qx "$each TrainJobResourcesCreationFailed" "$work/refused" || { echo "$each: nobody refused it"; return 1; }; done
}
hand_jobs_back() {
  suspend new-late
  until_true 'theirs suspends what ours adds nothing to' no_pods_but "$with_additions" new-late
  until_true 'theirs is refused for the others' refused_for openmpi-new-late bare-new-late
  specs >"$work/specs"
  must 'hand-back' hand_back
  say "$(cat "$work/said")"
  # Those that theirs was refused for it suspends by itself, at its next try.
  must 'hand-back changes no JobSet' diff <(grep -vE "^($with_additions)-new-late " "$work/specs") <(specs | grep -vE "^($with_additions)-new-late ")
  must 'hand-back once more' hand_back
  grep -q '^0 JobSets .* 0 failed$' "$work/said" || { cat "$work/said" >&2; fail 'hand-back did something twice'; }
  until_true 'theirs suspends the others' no_pods new-late
  resume new-late
  run_pods new-late
  end_as Succeeded Complete new-late
}

main() {
  prepare >"$work/said" 2>&1 || { cat "$work/said" >&2; fail 'the scene cannot be set'; }
  start reference "$reference"
  under_the_reference
  swap cotrain "$ours" deploy/crds false=end true=wake
  nothing_written 'end|fail|hold|patch|kill|back-end|back-fail|back-hold|back-kill'
  nothing_told
  change_refused
  transitions ''
  more_transitions
  unchanged done
  become Failed lost
  say "every transition of $(wc -w <<<"$policies") policies is right under ours"
  make false new-end new-fail new-hold new-kill new-done new-late
  make true new-wake new-drop new-turn
  run_pods new-end new-fail new-hold new-kill new-done new-late
  end_as Succeeded Complete new-done
  remember end hold wake turn fail due done lost new-done
  swap reference "$reference" "$COTRAIN_TEST_CRDS/trainer" false=new-end true=new-wake
  # The reference applies hostfiles and Flux's files again at each start.
  nothing_written 'back-end|back-fail|back-hold|back-kill|new-end|new-fail|new-hold|new-kill|new-late' 'jobsets|jobs|pods'
  transitions back-
  select_nodes back-turn
  resumed_on yes back-turn
  select_none back-loose
  resumed_on no back-loose
  end_as Succeeded Complete back-turn back-loose
  say "every transition of its own jobs is right under theirs again"
  hand_jobs_back
  transitions new-
  select_nodes new-turn
  resumed_on yes new-turn
  end_as Succeeded Complete new-turn
  unchanged_but_in_order end hold wake turn fail due done lost new-done
  say "every transition of our jobs is right under theirs"
  stop
}
main
printf 'test/swap: %s checks passed in %s s\n' "$checks" $SECONDS
