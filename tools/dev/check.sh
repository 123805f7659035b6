# Format, layering, lint, fuzzing: what keeps the house in order. Sourced by ./dev.

cpp_sources() { git ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp'; }

run_format() {
  if [ "${1:-}" = --check ]; then
    cpp_sources | xargs -r clang-format-19 --dry-run -Werror
    local go_files
    go_files=$(git ls-files -- '*.go' | xargs -r gofmt -l)
    [ -z "$go_files" ] || die "not laid out by gofmt: $go_files ('./dev format' does it)"
  else
    cpp_sources | xargs -r clang-format-19 -i
    git ls-files -- '*.go' | xargs -r gofmt -w
  fi
}

run_lint() {
  tools/dev/layering.sh
  tools/dev/sizes.sh
  tools/dev/versions.sh
  tools/dev/prose.py
  build_preset dev all crdgen
  tools/crdgen/check.sh build/dev/tools/crdgen/crdgen
  lint_workflows
  lint_sources "${1:-}"
}

lint_workflows() {
  local dir=$cache/actionlint-1.7.7
  [ -x "$dir/actionlint" ] || GOBIN=$dir quietly build/actionlint.log go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7
  "$dir/actionlint"
}

# clang-tidy over sources that were not found clean before with the same headers, flags and checks: neither here nor in
# CI, which has passed at the commit in .ci/landed.
lint_sources() {
  local known=$cache/tidy source headers key todo=() changed
  mkdir -p "$known"
  changed=" $([ "$1" = --all ] || changed_since_landed) "
  while read -r source headers; do
    [ "$changed" = '  ' ] || touches "$changed" "$source $headers" || continue
    # shellcheck disable=SC2086 # a list of files
    key=$(cat .clang-tidy "$source" $headers | sha256sum | cut -d' ' -f1)
    [ "$1" != --all ] && [ -e "$known/$key" ] && continue
    todo+=("$source $known/$key")
  done < <(sources_and_headers)
  say "clang-tidy: ${#todo[@]} sources"
  [ ${#todo[@]} = 0 ] && return
  printf '%s\n' "${todo[@]}" | xargs -P "$jobs" -L 1 bash -c 'tools/dev/tidy.sh "$0" "$1"'
}

# Files of src/ that differ from the commit in .ci/landed, on one line; nothing, meaning all, when that cannot be told
# or the checks themselves have changed.
changed_since_landed() {
  local landed
  landed=$(cat .ci/landed) && git rev-parse --verify --quiet "$landed^{commit}" >/dev/null || return 0
  git diff --quiet "$landed" -- .clang-tidy tools/dev/tidy.sh || return 0
  printf 'src/ '
  { git diff --name-only "$landed" -- src && git ls-files --others --exclude-standard -- src; } | tr '\n' ' '
}

# touches CHANGED FILES: whether one of the files is among the changed.
touches() {
  local file
  for file in $2; do case $1 in *" $file "*) return 0 ;; esac; done
  return 1
}

# Each source of src/ with all headers of ours that it includes, directly or not: what a verdict on it depends on.
sources_and_headers() {
  local files
  files=$(git ls-files --cached --others --exclude-standard -- 'src/*.cpp' 'src/*.hpp')
  # shellcheck disable=SC2086 # a list of files
  { printf '%s:\n' $files && grep -HoE '^#include "[^"]+"' $files; } | awk -F: '
    { includes[$1] = includes[$1] }
    $2 != "" { split($2, quoted, "\""); includes[$1] = includes[$1] (quoted[2] ~ /^cotrain\// ? " include/" : " src/") quoted[2] }
    function visit(file, parts, n, i) {
      if (file in seen) return
      seen[file] = 1
      if (file != source) line = line " " file
      n = split(includes[file], parts, " ")
      for (i = 1; i <= n; i++) visit(parts[i])
    }
    END {
      for (source in includes) if (source ~ /\.cpp$/) { split("", seen); line = source; visit(source); print line }
    }' | sort
}

# Strict: a dead link, a missing heading or a page that no menu has fails.
run_docs() {
  local dir=$cache/mkdocs-1.6.1
  [ -x "$dir/bin/mkdocs" ] || { python3 -m venv "$dir" && quietly build/mkdocs.log "$dir/bin/pip" install -q mkdocs==1.6.1; }
  quietly build/mkdocs.log "$dir/bin/mkdocs" build -q -d "$PWD/build/site"
  say 'build/site/index.html'
}

# With a seed (CI) every run sees the same inputs, from the kept corpus alone: a failure is of the change, and can be had
# again. Without one, new inputs are looked for and remembered.
# One for each processor at a time. --nightly runs each for longer with a new seed, keeps what it finds for the tree, and
# says how long each target has been run on this machine in all.
run_fuzz() {
  local nightly=
  if [ "${1:-}" = --nightly ]; then nightly=1 && shift && set -- "${1:-3600}"; fi
  local seconds=${1:-20} seed=${2:-} each fresh="" running=0 failed=0
  [[ $seconds =~ ^[0-9]+$ && $seed =~ ^[0-9]*$ ]] || die "fuzz takes seconds and a seed, both numbers: ./dev fuzz 20 1"
  build_preset asan
  [ -z "$seed" ] || fresh=$(mktemp -d)
  for each in build/asan/test/fuzz/*_fuzz; do
    fuzz_target "$each" "${fresh:-$cache/corpus}/$(basename "$each" _fuzz)" &
    [ $((++running)) -lt "$(nproc)" ] || { wait -n || failed=1; running=$((running - 1)); }
  done
  for (( ; running > 0; --running)); do wait -n || failed=1; done
  [ -z "$fresh" ] || rm -rf "$fresh"
  [ -z "$nightly" ] || fuzz_hours
  return $failed
}

# Of the processor, over all runs with new seeds.
fuzz_hours() {
  awk '{ n = split(FILENAME, path, "/"); printf "    %-20s %6.2f h\n", path[n], $1 / 3600; all += $1 }
    END { printf "    %-20s %6.2f h\n", "all targets", all / 3600 }' "$cache"/fuzz-seconds/*
}

# fuzz_target PROGRAM CORPUS, with the seconds and the seed of run_fuzz
fuzz_target() {
  local name
  name=$(basename "$1" _fuzz)
  mkdir -p "$2" build/test-logs
  say "fuzz $name for $seconds s"
  rm -f "build/test-logs/$name"-{crash,leak,timeout,oom}-*
  local code=0 spent TIMEFORMAT='%U'
  # The seeds first, each stretched wherever it can be.
  COTRAIN_FUZZ_THOROUGH=1 quietly "build/test-logs/fuzz-$name.log" "$1" -runs=0 -rss_limit_mb=2048 \
    -artifact_prefix="build/test-logs/$name-" "test/fuzz/corpus/$name" || { show_fuzz_input "$name"; return 1; }
  { time quietly "build/test-logs/fuzz-$name.log" "$1" -max_total_time="$seconds" -seed="${seed:-0}" -timeout=10 \
    -rss_limit_mb=2048 -artifact_prefix="build/test-logs/$name-" "$2" "test/fuzz/corpus/$name" 2>&3 || code=$?; } \
    3>&2 2>"build/test-logs/fuzz-$name.time"
  if [ -z "$seed" ]; then
    mkdir -p "$cache/fuzz-seconds"
    spent=$(cat "$cache/fuzz-seconds/$name" 2>/dev/null || echo 0)
    awk -v before="$spent" '{ print before + $1 }' "build/test-logs/fuzz-$name.time" >"$cache/fuzz-seconds/$name"
  fi
  [ $code = 0 ] || { show_fuzz_input "$name"; return 1; }
  printf '%s: %s\n' "$name" "$(tail -n 1 "build/test-logs/fuzz-$name.log")"
}

show_fuzz_input() {
  local input
  for input in "build/test-logs/$1"-{crash,leak,timeout,oom}-*; do
    [ -e "$input" ] || continue
    say "the input, for test/fuzz/corpus/$1 ('base64 -d' of these lines):"
    base64 "$input" >&2
    [ -z "${nightly:-}" ] || cp "$input" "test/fuzz/corpus/$1/found-$(sha256sum <"$input" | cut -c1-12)"
  done
}
