# What a run changes on the machine outside of its own directory, and how that is put back: a network namespace, a
# cgroup, three settings of the kernel, mounts, processes. Sourced.

readonly settings='kernel/panic kernel/panic_on_oops vm/overcommit_memory' # kubelet insists on them

# prepare_host: $state is the run's directory
prepare_host() {
  local setting each
  for setting in $settings; do printf '%s %s\n' "$setting" "$(<"/proc/sys/$setting")"; done >"$state/settings.new"
  mv "$state/settings.new" "$state/settings"
  ip netns add $network
  inside ip link set lo up
  inside ip address add $node_address/32 dev lo
  # The way from the node to a Service's address, which kube-proxy replaces on the way.
  inside ip route add $services dev lo src $node_address
  inside sysctl -qw net.ipv4.ip_forward=1
  while read -r each; do mkdir -p "$each/$network"; done < <(cgroup_hierarchies)
}

# Not `ip netns exec`: that mounts /sys anew and hides the cgroups.
inside() { nsenter --net=/run/netns/$network "$@"; }

cgroup_hierarchies() { awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts; }

# put_back STATE: undoes all of it, whatever state it is in, once or again
put_back() {
  local old=$1 setting value each
  export -n COTRAIN_E2E_STATE # our own commands are not of the run
  kill_all processes_of "$old"
  kill_all processes_in_cgroup
  while read -r each; do
    [ ! -d "$each/$network" ] || find "$each/$network" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done < <(cgroup_hierarchies)
  awk -v under="$old/" 'index($2, under) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r -n 1 umount -l 2>/dev/null || true
  [ ! -e /run/netns/$network ] || ip netns delete $network
  if [ -e "$old/settings" ]; then
    while read -r setting value; do
      [ "$(<"/proc/sys/$setting")" = "$value" ] || echo "$value" >"/proc/sys/$setting"
    done <"$old/settings"
  fi
  rm -rf --one-file-system "$old"
}

# kill_all COMMAND…: the processes that the command lists, until there are none
kill_all() {
  local found deadline=$((SECONDS + 30))
  while found=$("$@") && [ -n "$found" ]; do
    kill -KILL $found 2>/dev/null || true
    [ $SECONDS -lt $deadline ] || { say "still running after SIGKILL: $(xargs <<<"$found")"; return; }
    sleep 0.1
  done
}

# Everything a run starts has its directory in the environment.
processes_of() {
  grep -lzxF "COTRAIN_E2E_STATE=$1" /proc/[1-9]*/environ 2>/dev/null | cut -d/ -f3 | grep -vx "$BASHPID" || true
}

# What runs in containers has an environment of its own, but is in kubelet's cgroup.
processes_in_cgroup() {
  local each
  while read -r each; do
    [ ! -d "$each/$network" ] || find "$each/$network" -name cgroup.procs -exec cat {} + 2>/dev/null
  done < <(cgroup_hierarchies) | sort -u | grep -vx 0 || true
}

# cpu_of STATE: seconds of CPU that the run has taken so far, its containers included
cpu_of() {
  local pid each files=() ticks contained=0 seconds
  for pid in $(processes_of "$1"); do files+=("/proc/$pid/stat"); done
  ticks=$({ cat "${files[@]}" 2>/dev/null || true; } | sed 's/^.*) //' | awk '{ sum += $12 + $13 + $14 + $15 } END { print sum + 0 }')
  while read -r each; do
    seconds=0
    if [ -e "$each/$network/cpuacct.usage" ]; then seconds=$(($(<"$each/$network/cpuacct.usage") / 1000000000))
    elif [ -e "$each/$network/cpu.stat" ]; then seconds=$(awk '$1 == "usage_usec" { print int($2 / 1000000) }' "$each/$network/cpu.stat"); fi
    [ "${seconds:-0}" -le $contained ] || contained=$seconds
  done < <(cgroup_hierarchies)
  echo $((ticks / $(getconf CLK_TCK) + contained))
}
