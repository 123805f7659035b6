#!/usr/bin/env bash
# The versions of what tests run against: test/versions. Sourced for version_of and module_files, or run:
#   tools/dev/versions.sh        fails where a go.mod of test/ differs from it
#   tools/dev/versions.sh set    writes them into each go.mod and tidies it
readonly versions_file=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)/test/versions

# versions_of MODULE [DIRECTORY]: all that are named, the newest first
versions_of() { awk -v module="$1" -v directory="${2:-}" '$1 == module && (directory == "" || $3 == directory) { print $2 }' "$versions_file"; }
version_of() { versions_of "$@" | head -n 1; }

# module_files MODULE [DIRECTORY]: where the files of that version are, fetched if need be; $go is Go
module_files() {
  (cd "${versions_file%/*}/reference" && GOTOOLCHAIN=${GOTOOLCHAIN:-auto} "${go:-go}" mod download -json "$1@$(version_of "$@")") |
    sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p'
}

# named_in_go_mod: each line of the table whose directory has a go.mod: MODULE VERSION FILE
named_in_go_mod() {
  local module version directory
  while read -r module version directory; do
    case $module in '' | '#'*) continue ;; esac
    [ ! -e "${versions_file%/*}/$directory/go.mod" ] || echo "$module $version ${versions_file%/*}/$directory/go.mod"
  done <"$versions_file"
}

check_versions() {
  local module version file wrong=0
  while read -r module version file; do
    awk -v module="$module" -v version="$version" '$1 == "require" { $0 = substr($0, 9) } $1 == module && $2 == version { found = 1 } END { exit !found }' "$file" ||
      { echo "${file##*/../}: $module is not $version, as test/versions has it: tools/dev/versions.sh set" >&2; wrong=1; }
    [ "$module" != k8s.io/kubernetes ] || ! grep -E '=> k8s\.io/' "$file" | grep -qv " v0.${version#v1.}$" ||
      { echo "${file##*/../}: these do not belong to Kubernetes $version: tools/dev/versions.sh set" >&2; wrong=1; }
  done < <(named_in_go_mod)
  module=$(version_of k8s.io/kubernetes controlplane)
  # What `cotrain doctor` calls tested.
  grep -rqE "server_minor_max = $(sed -E 's/^v1\.([0-9]+).*/\1/' <<<"$module");" "${versions_file%/test/*}/src/app" ||
    { echo "server_minor_max of src/app is not the minor of $module" >&2; wrong=1; }
  return $wrong
}

set_versions() {
  local module version file files=()
  while read -r module version file; do
    files+=("$file")
    go mod edit -require="$module@$version" "$file"
    [ "$module" != k8s.io/kubernetes ] || sed -i -E "s|(=> k8s\.io/[^ ]*) v.*|\1 v0.${version#v1.}|; s|^(\s*k8s\.io/(client-go\|component-base\|kubectl)) v0\.[0-9.]+$|\1 v0.${version#v1.}|" "$file"
  done < <(named_in_go_mod)
  for file in $(printf '%s\n' "${files[@]}" | sort -u); do (cd "${file%/*}" && go mod tidy -e); done
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  case ${1:-} in
    '') check_versions ;;
    set) set_versions && check_versions ;;
    *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
  esac
fi
