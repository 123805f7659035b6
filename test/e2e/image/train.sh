#!/usr/bin/env bash
# Makes the new system in $1 one that trains: how mmdebstrap finishes the image of test/e2e/image/build.sh.
set -euo pipefail
root=$1
torch=$root/usr/lib/python3/dist-packages/torch/distributed

# Debian's torch is built without libuv, which is the default, and some places take whatever is asked for.
[ ! -e "$torch" ] || sed -i 's/"USE_LIBUV", "1"/"USE_LIBUV", "0"/' "$torch/rendezvous.py"
for file in "$torch/rendezvous.py" "$torch/elastic/rendezvous/"{static_tcp,c10d,dynamic}_rendezvous*.py; do
  [ ! -e "$file" ] || perl -0pi -e 's/(\bTCPStore\((?:(?!use_libuv)(?:[^()]|\([^()]*\)))+?),?\s*\)/$1, use_libuv=False)/g' "$file"
done

# As the images of the stock MPI runtimes: sshd of user 1000 on port 2222 with keys that the operator mounts.
chroot "$root" useradd --create-home --uid 1000 --shell /bin/bash mpiuser
mkdir -p "$root/home/mpiuser/.ssh" "$root/run/sshd"
cat >"$root/home/mpiuser/.sshd_config" <<'TEXT'
Port 2222
PidFile /home/mpiuser/sshd.pid
HostKey /home/mpiuser/.ssh/id_rsa
StrictModes no
UsePAM no
PasswordAuthentication no
TEXT
cat >"$root/etc/ssh/ssh_config" <<'TEXT'
Host *
  Port 2222
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
TEXT
chroot "$root" chown -R mpiuser:mpiuser /home/mpiuser
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/*
