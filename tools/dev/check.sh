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
  build_preset dev
  lint_sources "${1:-}"
}

# clang-tidy over sources that were not found clean before, with the same headers, flags and checks.
lint_sources() {
  local known=$cache/tidy source key todo=()
  mkdir -p "$known"
  while read -r source; do
    key=$(lint_key "$source")
    [ "$1" != --all ] && [ -e "$known/$key" ] && continue
    todo+=("$source $known/$key")
  done < <(git ls-files --cached --others --exclude-standard -- 'src/*.cpp')
  say "clang-tidy: ${#todo[@]} sources"
  [ ${#todo[@]} = 0 ] && return
  printf '%s\n' "${todo[@]}" | xargs -P "$jobs" -L 1 bash -c 'tools/dev/tidy.sh "$0" "$1"'
}

# What the verdict on a source depends on: itself, the headers of ours it includes, the checks.
lint_key() {
  { cat "$1" .clang-tidy && sed -nE 's/^#include "(.*)"/src\/\1/p' "$1" | xargs -r cat 2>/dev/null; } | sha256sum | cut -d' ' -f1
}

run_fuzz() {
  local seconds=${1:-20} each name corpus
  (
    export CC=clang-19 CXX=clang++-19
    build_preset fuzz
  )
  for each in build/fuzz/test/fuzz/*_fuzz; do
    name=$(basename "$each" _fuzz)
    corpus=$cache/corpus/$name
    mkdir -p "$corpus"
    say "fuzz $name for $seconds s"
    quietly "build/test-logs/fuzz-$name.log" "$each" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
      -artifact_prefix="build/test-logs/$name-" "$corpus" "test/fuzz/corpus/$name"
    tail -n 1 "build/test-logs/fuzz-$name.log"
  done
}
