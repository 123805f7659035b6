# What happens in the swap, in order. Sourced by scene.sh.

# What is over stays as it is, to the byte.
over() { local IFS=,; of_team get trainjobs -l "fate in ($*)" -o 'jsonpath={range .items[*]}{.metadata.name} {.status}{"\n"}{end}'; }
remember() { over "$@" >"$work/over.$1"; }
unchanged() {
  over "$@" >"$work/over"
  must "$*: are as they were" diff "$work/over.$1" "$work/over"
}

under_the_reference() {
  make false end fail hold patch kill back-end back-fail back-hold back-kill done done-drop lost lost-drop
  make true wake turn due keep drop back-wake back-drop
  make_refused
  run_pods end fail hold patch kill back-end back-fail back-hold back-kill done done-drop lost lost-drop
  end_as Succeeded Complete done done-drop
  end_as Failed Failed lost lost-drop
  become Suspended wake turn due keep drop back-wake back-drop
  say "$(of_team get trainjobs -o name | wc -l) jobs under the reference: running, suspended, finished, failed"
  remember done
  remember lost
}

# Jobs that the reference takes and rules of ours would refuse, were they new.
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
  for each in no-nodes no-processes no-such-job; do
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

# What only ours is asked: patches while suspended, deadlines, jobs that are over.
more_transitions() {
  local jobs
  must 'labels and annotations' of_team annotate trainjobs -l 'fate in (patch,keep,done,lost)' test.example/swapped=true
  change '{"spec":{"runtimePatches":[{"manager":"test.example/swap","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{"nodeSelector":{"swapped":"yes"}}}}}}]}}}}]}}' turn
  resume turn
  run_pods turn
  mapfile -t jobs < <(pods_of turn)
  [ "$(of_team get "${jobs[@]}" -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.nodeSelector.swapped}{"\n"}{end}' | grep -v launcher | grep -vc yes)" = 0 ] || fail 'turn: the patch is not in the Pods'
  passed
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

main() {
  prepare >"$work/said" 2>&1 || { cat "$work/said" >&2; fail 'the scene cannot be set'; }
  start reference "$reference"
  under_the_reference
  swap cotrain "$ours" deploy/crds
  nothing_written 'end|fail|hold|patch|kill|back-end|back-fail|back-hold|back-kill'
  change_refused
  transitions ''
  more_transitions
  unchanged done
  become Failed lost
  say "every transition of $(wc -w <<<"$policies") policies is right under ours"
  make false new-end new-fail new-hold new-kill new-done
  make true new-wake new-drop
  run_pods new-end new-fail new-hold new-kill new-done
  end_as Succeeded Complete new-done
  remember end hold wake turn fail due done lost new-done
  swap reference "$reference" "$COTRAIN_TEST_CRDS/trainer"
  # The reference applies hostfiles and Flux's files again at each start.
  nothing_written 'back-end|back-fail|back-hold|back-kill|new-end|new-fail|new-hold|new-kill' 'jobsets|jobs|pods'
  transitions back-
  transitions new-
  unchanged end hold wake turn fail due done lost new-done
  stop
}
main
printf 'test/swap: %s checks passed in %s s\n' "$checks" $SECONDS
