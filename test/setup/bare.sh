#!/usr/bin/env bash
# The README's commands on a bare Debian 12, in a root of its own: nothing that was installed changes its version,
# no suite is added, no service starts. Takes root for the chroot. Shares only the compiler cache with this machine.
# Usage: bare.sh [--demo]   runs the demo of the everyday build, which CI has in its compiler cache; with --demo ./dev demo
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in common libraries; do . "tools/dev/$part.sh"; done
[ "$(id -u)" = 0 ] || die "test/setup/bare.sh needs root for a chroot"
words='./dev build dev cotrain && build/dev/cotrain demo'
[ "${1:-}" != --demo ] || words='./dev demo'
work=$(mktemp -d "${TMPDIR:-/tmp}/cotrain-bare.XXXXXX")
readonly work root=$work/root
failures=0
check() { # WHAT COMMAND…
  local what=$1
  shift
  if "$@"; then printf '    ok      %s\n' "$what"; else printf '    FAILED  %s\n' "$what" && failures=$((failures + 1)); fi
}
clean_up() { rm -rf --one-file-system "$work"; }
trap clean_up EXIT

say "a bare Debian 12"
quietly "$work/log" mmdebstrap --variant=minbase --include=ca-certificates bookworm "$root" \
  "deb $(apt_mirror) bookworm main" "deb $(apt_mirror) bookworm-updates main" "deb $(apt_mirror)-security bookworm-security main"
git clone -q --no-hardlinks . "$root/cotrain"
git diff HEAD --binary | (cd "$root/cotrain" && git apply --allow-empty)  # as it is now, committed or not
cp /etc/resolv.conf /etc/hosts "$root/etc/"
installed() { dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package} ${Version}\n'; }
apt_sources() { cat "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/etc/apt/preferences.d/* "$root/etc/os-release" 2>/dev/null || :; }
installed >"$work/before"
apt_sources >"$work/sources"
mkdir -p "$root/ccache" "$(ccache -k cache_dir)"

# A mount namespace of its own: whatever happens, no mount stays. A process namespace: no process stays.
# shellcheck disable=SC2016 # expanded inside
env -i PATH="$PATH" TERM=dumb bash -c 'exec unshare --mount --pid --fork --kill-child bash -euo pipefail -c "
  mount -t proc proc \"$0/proc\" && mount -t tmpfs tmpfs \"$0/tmp\" && mount --rbind /dev \"$0/dev\" && mount --bind \"$1\" \"$0/ccache\"
  chroot \"$0\" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb CCACHE_DIR=/ccache bash -c \"cd /cotrain && { $2; } </dev/null\"
  ps -eo pid=,comm= | grep -vE \" (ps|grep|bash|unshare)\$\" >\"$0/left-running\" || :
"' "$root" "$(ccache -k cache_dir)" "$words" >"$work/demo" 2>&1 || { cat "$work/demo" >&2; die "'$words' failed on a bare Debian 12"; }

installed >"$work/after"
check 'the demo reaches Complete' grep -q Complete "$work/demo"
check 'no installed package has changed' test -z "$(comm -23 <(sort "$work/before") <(sort "$work/after"))"
check 'no suite was added, and the system says the same of itself' cmp -s "$work/sources" <(apt_sources)
check 'nothing is left running' test ! -s "$root/left-running"
check 'no service will start with the machine' \
  test -z "$(find "$root"/etc/systemd/system/*.wants -name 'ssh*' -o -name '*nghttp*' -o -name 'etcd*' 2>/dev/null)"
say "$(($(wc -l <"$work/after") - $(wc -l <"$work/before"))) packages were added, none of the $(wc -l <"$work/before") changed"
[ $failures = 0 ]
