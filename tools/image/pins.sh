#!/usr/bin/env bash
# tools/image/pins names every package that the image is made of, by version and hash, as Debian's signed indexes have them.
# Usage: pins.sh check [FILE]            fails where Debian's stable suite or its security suite has a newer version
#                                        (or FILE, which is then taken for what Debian has)
#        pins.sh update [SOURCE=VERSION] writes the file anew with the newest versions, or that version of a source
# A stable suite changes for security and for grave defects only, so a newer version there is one to take. An older source
# may stay only while no mirror has the newer one and tools/image/pins_waived shows of each of its fixes that it does not
# concern us.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common libraries; do . "tools/dev/$part.sh"; done
readonly pins=tools/image/pins lists=$cache/apt/image
readonly waived=${COTRAIN_PINS_WAIVED:-tools/image/pins_waived}
readonly keyring=/usr/share/keyrings/debian-archive-keyring.gpg
readonly stable=trixie headers=forky
readonly binaries=(libc6-dev linux-libc-dev libc++-19-dev libc++abi-19-dev libunwind-19-dev libclang-rt-19-dev libboost1.88-dev libfmt-dev)
readonly headers_only=(libglaze-dev) sources=(openssl nghttp2 libyaml)

# apt SUITE WORDS…: apt-get that knows this suite and its security updates alone, for both architectures, and nothing of
# what is installed here. What it reads is signed by Debian's archive keys.
apt() {
  local suite=$1 at=$lists/$1 mirror option options=()
  shift
  mirror=$(apt_mirror)
  mirror=${mirror:-http://deb.debian.org/debian}
  mkdir -p "$at/lists/partial" "$at/archives/partial"
  [ -e "$keyring" ] || die "pins: no $keyring; the package debian-archive-keyring has it"
  {
    printf "deb [arch=amd64,arm64 signed-by=$keyring] %s %s main\n" "$mirror" "$suite" "$mirror-security" "$suite-security"
    printf "deb-src [signed-by=$keyring] %s %s main\n" "$mirror" "$suite" "$mirror-security" "$suite-security"
  } >"$at/sources.list"
  for option in Dir::Etc::SourceList="$at/sources.list" Dir::Etc::SourceParts=/dev/null Dir::Etc::Preferences=/dev/null \
    Dir::Etc::PreferencesParts=/dev/null Dir::State::Lists="$at/lists" Dir::State::Status=/dev/null Dir::Cache="$at" \
    APT::Architecture=amd64 APT::Architectures::=arm64 APT::Sandbox::User=root Acquire::Languages=none Acquire::Retries=3; do
    options+=(-o "$option")
  done
  apt-get -q "${options[@]}" "$@"
}

# newest [SOURCE=VERSION]: the lines of the file, from lists read anew
newest() {
  local name arguments
  for name in $stable $headers; do
    apt $name update >"$cache/apt-image.log" 2>&1 || { cat "$cache/apt-image.log" >&2 && die "pins: Debian's lists of packages cannot be read"; }
  done
  arguments=("${binaries[@]/%/:amd64}" "${binaries[@]/%/:arm64}")
  apt $stable --print-uris download "${arguments[@]}" 2>/dev/null | as_pins $stable
  apt $headers --print-uris download "${headers_only[@]}" 2>/dev/null | as_pins $headers
  for name in "${sources[@]}"; do
    case ${1:-} in "$name="*) name=$1 ;; esac
    apt $stable --print-uris --download-only source "$name" 2>/dev/null | as_pins $stable
  done
}

# as_pins SUITE: apt's lines "'ADDRESS' FILE BYTES SHA256:SUM" become "SUITE KIND NAME VERSION SUM PATH". The parts of a
# source have its Debian version, which the name of the last one tells.
as_pins() {
  sed -nE "s|^'[^']*/(debian[a-z-]*/pool/[^']*)' ([^ ]+) [0-9]+ SHA256:([0-9a-f]+).*|\1 \2 \3|p" | awk -v suite="$1" '
    function plain(text) { gsub(/%3a/, ":", text); gsub(/%2b/, "+", text); gsub(/%7e/, "~", text); return text }
    { split(plain($2), part, "_"); path = plain($1) }
    $2 ~ /\.deb$/ { sub(/\.deb$/, "", part[3]); print suite, part[3], part[1], part[2], $3, path; next }
    $2 ~ /\.orig\.tar\.[a-z0-9]+$/ { upstream = $3 " " path }
    $2 ~ /\.debian\.tar\.[a-z0-9]+$/ {
      sub(/\.debian\.tar.*/, "", part[2])
      print suite, "source", part[1], part[2], upstream
      print suite, "source", part[1], part[2], $3, path
    }' | sort -u
}

update() {
  local found
  found=$(newest "$@")
  {
    sed -n '/^#/p' $pins
    printf '%s\n' "$found"
  } >$pins.new
  mv $pins.new $pins
}

# versions: "NAME/KIND VERSION" of the pins on standard input that a stable suite has; of the kernel there are numbers only,
# no code.
versions() { awk -v suite=$stable '$1 == suite && $3 != "linux-libc-dev" { print $3 "/" $2, $4 }' | sort -u; }

check() {
  local name ours theirs bad=0 found
  if [ -n "${1:-}" ]; then found=$(<"$1"); else found=$(newest); fi
  while read -r name ours theirs; do
    [ "$ours" != "$theirs" ] || continue
    if [ "${name#*/}" = source ] && may_stay "${name%/*}" "$ours" "$theirs" "$found"; then
      say "pins: ${name%/*} $ours stays: no mirror has the source $theirs yet, and its $fixes fixes do not concern us"
    else
      printf 'pins: %s: the image has %s, Debian %s has %s: tools/image/pins.sh update\n' "$name" "$ours" $stable "$theirs" >&2
      bad=1
    fi
  done < <(join -a 1 -e gone -o 0,1.2,2.2 <(versions <$pins) <(versions <<<"$found"))
  [ $bad = 0 ] || exit 1
  say "pins: nothing newer in Debian $stable and its security updates that can be had"
}

# may_stay SOURCE OURS THEIRS LINES: $fixes is how many fixes the newer one has. Its changelog comes with its binaries.
may_stay() {
  local name=$1 ours=$2 theirs=$3 path each reason word
  while read -r path; do
    ! served "$path" || { printf 'pins: %s %s can be had\n' "$name" "$theirs" >&2 && return 1; }
  done < <(awk -v name="$name" '$2 == "source" && $3 == name && $6 ~ /\.debian\.tar\./ { print $6 }' <<<"$4")
  fixes=0
  changelog "$name" "$theirs" >"$cache/changelog.$name" || { printf 'pins: no changelog of %s %s\n' "$name" "$theirs" >&2 && return 1; }
  for each in $(awk -v ours="($ours)" '$2 == ours { exit } { print }' "$cache/changelog.$name" | grep -oE 'CVE-[0-9]+-[0-9]+' | sort -u); do
    reason=$(awk -v name="$name" -v cve="$each" '$1 == name && $2 == cve { $1 = $2 = ""; print }' "$waived")
    read -r word _ <<<"$reason" || :
    case $word in
      no-*) grep -qwF -- "$word" tools/image/openssl_options ;;
      unused:*) ! grep -rqw -- "${word#unused:}" src ;;
      bounded:*) grep -rqE -- "^TEST(_F|_P)?\([a-z_]+, ${word#bounded:}\)" test --include='*.cpp' ;;
      *) false ;;
    esac || { printf 'pins: %s %s fixes %s, and %s does not show that it does not concern us\n' "$name" "$theirs" "$each" "$waived" >&2 && return 1; }
    fixes=$((fixes + 1))
  done
  # Debian fixes without a number are not known to be harmless.
  [ $fixes != 0 ]
}

# served PATH: whether a mirror has it
served() {
  local from
  for from in "$(apt_mirror)" http://deb.debian.org/debian; do
    case $1 in debian-security/*) from=$from-security ;; esac
    ! curl -fsIL --connect-timeout 20 --retry 2 -o /dev/null "$from/${1#*/}" 2>/dev/null || return 0
  done
  return 1
}

# changelog SOURCE VERSION
changelog() {
  local package work
  if [ -n "${COTRAIN_PINS_CHANGELOG:-}" ]; then cat "$COTRAIN_PINS_CHANGELOG" && return; fi
  case $1 in
    openssl) package=libssl3t64 ;;
    nghttp2) package=libnghttp2-14 ;;
    libyaml) package=libyaml-0-2 ;;
    *) return 1 ;;
  esac
  work=$(mktemp -d)
  (cd "$work" && apt $stable download "$package:amd64=$2" && dpkg-deb --fsys-tarfile ./*.deb | tar -xO "./usr/share/doc/$package/changelog.Debian.gz" | gzip -dc >text) >"$work/log" 2>&1 \
    && cat "$work/text"
  rm -rf "$work"
}

case ${1:-} in
  check) check "${2:-}" ;;
  update) shift && update "$@" ;;
  *) die "pins.sh: check or update, not '${1:-}'" ;;
esac
