# Making jobs and judging them. Sourced.

kube() { "$kube_bin/kubectl" "$@"; }
of_team() { kube -n $team "$@"; }

# create FILE [SED…]: what the file holds, with its place for shared files filled in
create() {
  local file=$e2e/jobs/$1.yaml
  shift
  sed -e "s#@shared@#$state/shared#" "$@" "$file" | of_team apply --server-side -f - >"$state/said" 2>&1 ||
    { cat "$state/said" >&2; fail "$file was refused"; }
}

# await NAME CONDITION SECONDS: until the job's condition is True; another end of the job is a failure
await() {
  local name=$1 wanted=$2 seconds=$3 true='' watch reader
  exec {watch}< <(exec timeout "$seconds" "$kube_bin/kubectl" -n $team get trainjob "$name" --watch \
    -o jsonpath='{.status.conditions[?(@.status=="True")].type}{"\n"}' 2>&1)
  reader=$!
  while read -r true <&"$watch"; do
    case " $true " in
      *" $wanted "*) break ;;
      *' Complete '* | *' Failed '*) break ;;
    esac
  done
  kill "$reader" 2>/dev/null || true
  exec {watch}<&-
  case " $true " in *" $wanted "*) ;; *) fail "$name: not $wanted within $seconds s, but '$true'" ;; esac
}

# refused TEXT FILE [SED…]: the API server takes none of it and says the text
refused() {
  local text=$1 file=$e2e/jobs/$2.yaml
  shift 2
  if sed -e "s#@shared@#$state/shared#" "$@" "$file" | of_team create -f - >"$state/said" 2>&1; then fail "$file was taken$otherwise"; fi
  grep -qF -- "$text" "$state/said" || { cat "$state/said" >&2; fail "$file: was not refused with '$text'$otherwise"; }
}

# logs_of NAME [CONTAINER]: of the Pods that train, into $state/log
logs_of() { of_team logs -l "jobset.sigs.k8s.io/jobset-name=$1,jobset.sigs.k8s.io/replicatedjob-name in (node,launcher)" -c "${2:-node}" --tail=-1 --max-log-requests=50 >"$state/log"; }
field() { of_team get trainjob "$1" -o jsonpath="$2"; }
pods_of() { of_team get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name | wc -l; }
# How many Pods the job has had in all, of which JobSet may have taken some away: its Jobs' events, no older than itself.
pods_had_by() {
  of_team get events --field-selector=reason=SuccessfulCreate,involvedObject.kind=Job \
    -o 'jsonpath={range .items[*]}{.involvedObject.name} {.metadata.creationTimestamp} {.message}{"\n"}{end}' |
    awk -v of="^$1-(node|launcher|dataset-initializer|model-initializer)-[0-9]+$" -v since="$(field "$1" '{.metadata.creationTimestamp}')" \
      '$1 ~ of && $2 >= since && !seen[$NF]++ { pods++ } END { print pods + 0 }'
}
no_pods_of() { [ "$(pods_of "$1")" = 0 ]; }

# lines COUNT PATTERN WHAT: of $state/log, so many lines match
lines() {
  local found
  found=$(grep -cE -- "$2" "$state/log") || true
  [ "$found" = "$1" ] || { cat "$state/log" >&2; fail "$3: $found lines match '$2', not $1"; }
}

# different COUNT PATTERN WHAT: of $state/log, so many different texts match
different() {
  local found
  found=$({ grep -oE -- "$2" "$state/log" || true; } | sort -u | wc -l)
  [ "$found" = "$1" ] || { cat "$state/log" >&2; fail "$3: $found different '$2', not $1"; }
}

equals() { [ "$1" = "$2" ] || fail "$3: '$1', not '$2'"; }

remove() {
  of_team delete trainjob "$1" --wait=false >/dev/null
  until_true 60 "the Pods of $1 go" no_pods_of "$1"
}

# row JOB FRAMEWORK ASSERTED SECONDS PODS: a line of the table. Under the reference: all of that line is so there, too.
row() {
  if by_reference; then
    beside "$1" 'the same' "$4" "$5"
    return
  fi
  printf '| %s | %s | %s | %s | %s |\n' "$@" >>"$state/rows"
  say "$(printf '%-34s %6s s, %s' "$1" "$4" "$3")"
}

# beside JOB WHAT SECONDS PODS: what the reference does, for the row of that job
beside() {
  printf '%s\t%s (%s s, %s Pod%s)\n' "$@" "$([ "$4" = 1 ] || echo s)" >>"$state/beside"
  say "$(printf 'under the reference: %-34s %6s s, %s' "$1" "$3" "$2")"
}
