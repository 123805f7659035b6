# Libraries that the distribution lacks, or has for another standard library only: single packages from Debian, unpacked
# into the cache. Nothing of the system changes: apt reads lists of its own and checks their signatures. Sourced by ./dev.

# name  suite  kind  package  SHA-256 of the archive that was tried
readonly unpacked_libraries='
glaze      forky     binary  libglaze-dev  c32e07e93dae096a3cde74e613734b488c49b489e7cb73d13b4f0d633bb5f151
benchmark  trixie    source  benchmark     32131c08ee31eeff2c8968d7e874f3cb648034377dfc32a4c377fa8796d84981'

# need_libraries: each of them is in the cache afterwards, or CMake fetches it from upstream.
need_libraries() {
  local name suite kind package hash
  while read -r name suite kind package hash; do
    [ -z "$name" ] || [[ $(readlink "$cache/libraries/$name") = "$name-$suite"-* ]] && continue
    [ -r "$debian_keyring" ] && have apt-get || continue
    say "unpacking $package of Debian $suite into $cache/libraries (the system keeps what it has)"
    mkdir -p "$cache/libraries"
    unpack_library "$name" "$suite" "$kind" "$package" "$hash" ||
      say "$package of Debian $suite could not be had: CMake fetches $name from upstream"
  done <<<"$unpacked_libraries"
}

# In a subshell, for its trap. The link comes last: what it names is whole. Each step says when it fails: `set -e` is off
# for a caller that looks at the result.
unpack_library() (
  local name=$1 suite=$2 kind=$3 package=$4 hash=$5 work archive found kept
  work=$(mktemp -d "$cache/libraries/work.XXXXXX") || return
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work"
  archive=$(debian_archive "$work" "$suite" "$kind" "$package") || return
  found=$(sha256sum "$archive" | cut -d' ' -f1)
  [ "$found" = "$hash" ] || say "$(basename "$archive") is not the release that was tried; apt vouches for it"
  mkdir "$work/unpacked"
  case $kind in
    binary) dpkg-deb -x "$archive" "$work/unpacked" ;;
    source) tar -xf "$archive" -C "$work/unpacked" --strip-components=1 ;;
  esac || return
  kept=$name-$suite-${found:0:16}
  mv -T "$work/unpacked" "$cache/libraries/$kept" 2>/dev/null || [ -e "$cache/libraries/$kept" ]
  ln -sfn "$kept" "$cache/libraries/$name"
)

# debian_archive DIRECTORY SUITE binary|source PACKAGE: downloads it there and prints the path of the .deb, or of the
# upstream archive.
debian_archive() {
  local directory=$1 suite=$2 kind=$3 package=$4
  cd "$directory"
  case $kind in
    binary) private_apt "$suite" deb download "$package" && ls -d "$PWD"/*.deb ;;
    source) private_apt "$suite" deb-src source --download-only "$package" && ls -d "$PWD"/*.orig.tar.* | grep -v '\.asc$' ;;
  esac
}

readonly debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# private_apt SUITE[,SUITE…] deb|deb-src APT-GET'S WORDS…: apt-get with these suites alone, its lists and archives in the
# cache. A mirror that is a snapshot of a day has lists that have expired: their signature is what counts here.
private_apt() {
  local suites=${1//,/ } types=$2 at=$cache/apt/$1-$2 mirror security=
  shift 2
  mirror=$(apt_mirror)
  mkdir -p "$at/lists/partial" "$at/archives/partial"
  case $suites in *-security*) security=-security ;; esac
  printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$types" \
    "${mirror:-http://deb.debian.org/debian}$security" "$suites" "$debian_keyring" >"$at/one.sources"
  local apt=(apt-get -q -o "Dir::Etc::SourceList=$at/one.sources" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null
    -o Dir::Etc::PreferencesParts=/dev/null -o "Dir::State::Lists=$at/lists" -o "Dir::Cache=$at" -o APT::Sandbox::User=root
    -o Acquire::Retries=3 -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false)
  {
    flock 8
    [ -n "$(find "$at/updated" -mmin -600 2>/dev/null)" ] || { "${apt[@]}" update && touch "$at/updated"; } || return
  } 8>"$at/lock" >&2
  "${apt[@]}" "$@" >&2 </dev/null
}

# Where this machine gets its packages from now.
apt_mirror() {
  local from
  from=$(sed -nE 's/^URIs: *([^ ]+).*/\1/p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | grep -v security | head -1)
  [ -n "$from" ] || from=$(sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p' /etc/apt/sources.list 2>/dev/null | grep -v security | head -1)
  printf '%s' "${from%/}"
}
