# An elastic job: torchrun gathers other numbers of nodes while it trains (docs/elastic.md). Sourced.

# operator_gate NAME true|false
operator_gate() {
  release upgrade --reuse-values --set "manager.config.featureGates.$1=$2"
  until_true 60 'the webhooks answer' webhooks_answer
}

# trains_on COUNT: the last step was made by so many workers
trains_on() { awk -v wanted="$1" 'END { exit $3 != wanted }' "$state/shared/elastic.steps"; }
runs_on() { [ "$(field elastic '{.status.state} {.status.nodes.summary}')" = "Running $1" ]; }

# scaled_to COUNT
scaled_to() {
  of_team scale trainjob/elastic --replicas="$1" >/dev/null
  until_true 240 "elastic: $1 nodes train" trains_on "$1"
  until_true 60 "elastic: the status tells of $1 nodes" runs_on "$1/$1"
}
# of_index INDEX: which labels the Pod of that index has
of_index() { printf 'jobset.sigs.k8s.io/jobset-name=elastic,batch.kubernetes.io/job-completion-index=%s' "$1"; }

# From lines "life step size rank": in each life one size, every step but the last made by all, and a new life goes back by
# no more than the five steps of a checkpoint. Prints the sizes in order.
judge_steps() {
  awk '
    !($1 in size) { order[++lives] = $1; size[$1] = $3; first[$1] = $2 }
    size[$1] != $3 { print "two sizes in a life: " $0; bad = 1 }
    made[$1, $2, $4]++ { print "a rank made a step twice: " $0; bad = 1 }
    { count[$1, $2]++; if ($2 > last[$1]) last[$1] = $2; if ($2 < first[$1]) first[$1] = $2 }
    END {
      for (i = 1; i <= lives; ++i) {
        l = order[i]
        for (s = first[l]; s < last[l]; ++s) if (count[l, s] != size[l]) { print "step " s " of life " i " by " count[l, s] " of " size[l]; bad = 1 }
        if (i > 1 && first[l] <= reached - 5) { print "life " i " began at " first[l] " after " reached; bad = 1 }
        if (i > 1 && first[l] > reached + 1) { print "life " i " left steps out: " first[l] " after " reached; bad = 1 }
        if (last[l] > reached) reached = last[l]
        sizes = sizes (i > 1 ? " " : "") size[l]
      }
      print sizes
      exit bad
    }' "$state/shared/elastic.steps"
}

check_elastic() {
  local began seconds sizes
  rm -f "$state"/shared/elastic*
  operator_gate ElasticTrainJob true
  began=$(now)
  create elastic
  until_true 120 'elastic: 2 nodes train' trains_on 2
  scaled_to 4
  # One rank dies while another leaves.
  of_team exec "$(of_team get pods -l "$(of_index 1)" -o name)" -c node -- sh -c 'kill -9 "$(cat "/checkpoints/elastic.pid.$(hostname)")"'
  scaled_to 3
  trap 'kube uncordon "$node" >/dev/null' EXIT
  # The node of one Pod is drained; the others train on without it, until there is a node again.
  kube drain "$node" --pod-selector="$(of_index 1)" --force --delete-emptydir-data --timeout=60s >"$state/said" 2>&1 || { cat "$state/said" >&2; fail 'elastic: drain'; }
  until_true 240 'elastic: 2 nodes train without the one that was drained' trains_on 2
  until_true 60 'elastic: it says that it goes on' runs_on 2/3
  kube uncordon "$node" >/dev/null
  scaled_to 3
  scaled_to 2
  touch "$state/shared/elastic.end"
  await elastic Complete 120
  seconds=$(since "$began")
  sizes=$(judge_steps) || fail "elastic: $sizes"
  # Those that start again after a torchrun was told to end do not all come at once.
  grep -qE '^2( [23])* 4( [1-4])* 3( [1-3])* 2( [12])* 3( [1-3])* 2( [12])*$' <<<"$sizes" || fail "elastic: the sizes were $sizes"
  logs_of elastic
  different 2 "rank=[01]/2 ended=[0-9]+" 'elastic: both ranks that are left end'
  row 'torch, elastic, 2 → 4 → 3 → 2 nodes by `kubectl scale`' '' "one world size in each step on all ranks, also when a rank dies by SIGKILL while it is scaled and when a node is drained; no step is lost but those since the last checkpoint (sizes of the worlds in turn: $sizes)" "$seconds" "$(pods_had_by elastic)"
  remove elastic
  operator_gate ElasticTrainJob false
}
