#!/usr/bin/env bash
# Our HTTP/2 client beside h2load against the same nghttpd, alternating in one run; then its system calls and, with
# callgrind, its instructions a request. Usage: h2_bench.sh [PAIRS] [REQUESTS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tools/dev/median.sh
pairs=${1:-12} requests=${2:-200000} streams=90
client=${COTRAIN_H2_CLIENT:-build/bench/bench/h2_client}
dir=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null || true; }
  rm -rf "$dir"
}
trap stop EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$dir/key" -out "$dir/crt" -days 2 \
  -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost -addext keyUsage=critical,digitalSignature,keyCertSign 2>/dev/null
head -c 64 /dev/zero | tr '\0' y >"$dir/index.html"
head -c 2048 /dev/zero | tr '\0' x >"$dir/body"
port=$((20000 + RANDOM % 20000))
# Windows as the API server announces them: with nghttpd's own 64 KiB the bodies would wait for credit.
nghttpd -d "$dir" -m 100 -n 1 -w 18 -W 25 --address=127.0.0.1 $port "$dir/key" "$dir/crt" >"$dir/log" 2>&1 &
server=$!
for _ in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break; read -rt 0.05 <> <(:) || true; done

field() { sed -nE "s/.*$1 ([0-9.]+).*/\1/p"; }
# Without connecting, as ours counts: h2load's own figure begins before.
theirs() {
  h2load -n "$requests" -c 1 -m $streams -t 1 -d "$dir/body" -H ':method: PATCH' "https://127.0.0.1:$port/index.html" 2>/dev/null |
    awk -v n="$requests" 'function seconds(t) { return t ~ /us$/ ? t / 1e6 : t ~ /ms$/ ? t / 1e3 : t + 0 }
      /^finished in/ { whole = n / $4 } /^time for connect:/ { printf "%.0f\n", n / (whole - seconds($4)) }'
}
ours() { "$client" --port $port --ca "$dir/crt" --path /index.html --requests "$requests" --streams $streams; }

ours >/dev/null && theirs >/dev/null
ratios=() ours_rps= theirs_rps= line=
# Who goes first changes, or whatever drifts would count for one of them.
for i in $(seq "$pairs"); do
  ((i % 2)) || line=$(ours)
  theirs_rps=$(theirs)
  ((i % 2 == 0)) || line=$(ours)
  ours_rps=$(field rps <<<"$line")
  ratios+=("$(awk -v a="$ours_rps" -v b="$theirs_rps" 'BEGIN { printf "%.3f", a / b }')")
  printf '  h2load %8.0f/s   ours %8.0f/s   ratio %s\n' "$theirs_rps" "$ours_rps" "${ratios[-1]}"
done
read -r median low high <<<"$(printf '%s\n' "${ratios[@]}" | median_interval)"
printf 'ratio to h2load: median %.3f, 95 %% interval %.3f to %.3f, %d pairs (goal: >= 0.95)\n' "$median" "$low" "$high" "$pairs"
printf 'CPU a request: %s us (goal: <= 35); reads %s, writes %s a request\n' \
  "$(field cpu_us_per_request <<<"$line")" "$(field reads_per_request <<<"$line")" "$(field writes_per_request <<<"$line")"

strace -f -c -o "$dir/strace" "$client" --port $port --ca "$dir/crt" --path /index.html --requests 20000 --streams $streams >/dev/null
awk '$NF == "total" { printf "system calls a request, all kinds, start-up included: %.4f (goal: <= 0.15)\n", $4 / 20000 }' "$dir/strace"
head -6 "$dir/strace"

if [ "${COTRAIN_CALLGRIND:-1}" = 1 ]; then
  count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$client" --port $port --ca "$dir/crt" --path /index.html \
      --requests "$1" --streams $streams 2>&1 >/dev/null | sed -nE 's/.*Collected : ([0-9]+).*/\1/p'
  }
  a=$(count 1000) b=$(count 3000)
  printf 'instructions a request: %s\n' $(((b - a) / 2000))
fi
