# Who else writes TrainJobs while their controllers change, each as the program does that it is named after: Kueue by an
# Update with Go's types, a user by `kubectl edit`, Argo CD by server-side apply; and a mutating webhook of somebody else.
# Each leaves an annotation test.example/NAME. Sourced by scene.sh.
readonly neighbours='kueue user argocd'
declare -A at_work=()
mutator_pid=

start_mutator() {
  mutator_port=$(free_port)
  "$mutator" "127.0.0.1:$mutator_port" "$COTRAIN_TEST_PKI/apiserver.crt" "$COTRAIN_TEST_PKI/apiserver.key" >"$work/mutator.log" 2>&1 &
  mutator_pid=$!
  until_true 'the webhook of somebody else answers' curl -sk -o /dev/null "https://127.0.0.1:$mutator_port/"
  kube apply --server-side -f - <<TEXT
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: policy.test.example}
webhooks:
- name: policy.test.example
  clientConfig: {url: "https://127.0.0.1:$mutator_port/", caBundle: $(base64 -w 0 "$COTRAIN_TEST_PKI/ca.crt")}
  rules:
  - {apiGroups: [trainer.kubeflow.org, jobset.x-k8s.io], apiVersions: ["*"], resources: [trainjobs, jobsets], operations: [CREATE, UPDATE]}
  reinvocationPolicy: IfNeeded
  sideEffects: None
  admissionReviewVersions: [v1]
TEXT
}

# NAME_writes ROUND JOB…: succeeds when all of them are written
kueue_writes() {
  local round=$1 job code=0
  shift
  for job; do
    of_team get "$job" -o json | "$COTRAIN_TEST_CRDS/../bin/typed" |
      of_team annotate --local --overwrite -f - "test.example/kueue=$round" -o json | of_team replace -f - || code=1
  done
  return $code
}
user_writes() {
  local round=$1
  shift
  printf '#!/bin/sh\nsed -i "s|test.example/user:.*|test.example/user: %s|" "$1"\n' "$round" >"$work/editor"
  chmod +x "$work/editor"
  KUBE_EDITOR=$work/editor TMPDIR=$work of_team edit "$@"
}
argocd_writes() {
  sed -E "s|metadata: \{|&annotations: {test.example/argocd: $1}, |" "$work/argocd.yaml" |
    of_team apply --server-side --force-conflicts --field-manager=argocd-controller -f -
}

# invite SUSPEND=FATE…: they begin to write these jobs, again and again
invite() {
  local each
  rm -f "$work/enough"
  for each; do manifests "${each%%=*}" "${each#*=}"; done >"$work/argocd.yaml"
  mapfile -t written < <(jobs_of "${@#*=}")
  must 'a user annotates jobs' of_team annotate --overwrite "${written[@]}" test.example/user=before
  for each in $neighbours; do
    write_on "$each" >"$work/$each.log" 2>&1 &
    at_work[$each]=$!
  done
}
# Until there is enough; then each job once more, however often that takes.
write_on() {
  local round=0 deadline
  until [ -e "$work/enough" ]; do "$1_writes" "r$((++round))" "${written[@]}" || true; done
  deadline=$((SECONDS + patience))
  until "$1_writes" last "${written[@]}"; do [ $SECONDS -lt $deadline ] || return 1; done
}
have_all_written() {
  local each
  touch "$work/enough"
  for each in $neighbours; do
    wait "${at_work[$each]}" || { tail -n 5 "$work/$each.log" >&2; fail "$each could not write all jobs"; }
    unset "at_work[$each]"
  done
  of_team get "${written[@]}" -o 'jsonpath={range .items[*]}{.metadata.annotations}{"\n"}{end}' >"$work/annotations"
  for each in $neighbours policy; do
    [ "$(grep -cE "\"test.example/$each\":\"(last|UPDATE)\"" "$work/annotations")" = ${#written[@]} ] ||
      { cat "$work/annotations" >&2; fail "what $each wrote last is not in all jobs"; }
  done
  say "${#written[@]} jobs were written by $neighbours and a webhook of somebody else meanwhile"
  passed
}
send_away() {
  touch "$work/enough"
  kill "${at_work[@]}" $mutator_pid 2>/dev/null || true
}
