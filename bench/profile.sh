#!/usr/bin/env bash
# Where the work of a job goes, from its creation to Complete: instructions by room (callgrind), cache misses (cachegrind) and
# system calls (strace) of the operator alone, the start taken out: each is counted with N jobs and with 3 N.
#   bench/profile.sh BUILD [--real] [JOBS] [RATE]    default: 200 jobs in a burst, on the embedded server; --real: on kube-apiserver
#   bench/profile.sh BUILD --span    goal 5's span alone, from an event to its apply: instructions and code that it touches
# BUILD: a build with the bench preset. BUILD/profile/ keeps the profiles for callgrind_annotate.
set -euo pipefail
build=$(realpath "${1:?usage: bench/profile.sh BUILD [--real] [JOBS] [RATE]}")
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "${1:-}" = --real ]; then
  shift
  bin=$(test/controlplane/build.sh base | tail -n 1)
  crds=$(mktemp -d)
  trap 'rm -rf "$crds"' EXIT
  cp -r "$(test/controlplane/build.sh path | tail -n 1)/." "$crds" && rm -rf "$crds/trainer" && cp deploy/crds/*.yaml "$crds"
  "$bin/controlplane" exec --crds "$crds" -- "$PWD/bench/profile.sh" "$build" --inside "$@"
  exit
fi
server=(--script 'start 0ms, ready 0ms, run 20ms')
if [ "${1:-}" = --inside ]; then
  shift
  server=(--kubeconfig "$KUBECONFIG" --complete)
fi
span=
if [ "${1:-}" = --span ]; then  # slow enough for valgrind: no span has work of another job in it
  span=1
  server=(--script never --nodes 8)
  set -- 100 4
fi
jobs=${1:-200} rate=${2:-burst} out=$build/profile
mkdir -p "$out"
for each in valgrind callgrind_annotate strace; do
  command -v $each >/dev/null || { echo "profile: there is no $each here" >&2; exit 2; }
done

# The bench kills what has not ended in five seconds, and a profile takes longer to be written: out of its process group.
cat >"$out/run" <<'TEXT'
#!/bin/sh
command=$1 pid=$2
shift 2
setsid sh -c "exec $command \"\$@\"" sh "$@" &
echo $! >"$pid"
trap 'kill -TERM -$!' TERM
wait $! || wait $!
TEXT
chmod +x "$out/run"
finish() {
  [ ! -s "$out/pid" ] || kill -- "-$(cat "$out/pid")" 2>/dev/null || true
  rm -f "$out/pid"
}
trap finish EXIT

# counted N COMMAND: N jobs through an operator that runs under COMMAND.
counted() {
  printf 'apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\nwebhook: {host: 127.0.0.1, port: %s}\nmetrics: {bindAddress: "0"}\nhealth: {healthProbeBindAddress: "0"}\ncertManagement: {enable: false}\n' \
    $((20000 + RANDOM % 10000)) >"$out/config.yaml"
  "$build/cotrain" bench --jobs "$1" --rate "$rate" --repetitions 1 "${server[@]}" \
    --controller "profiled=exec '$out/run' '$2' '$out/pid' '$build/cotrain' operator --kubeconfig={kubeconfig} --config='$out/config.yaml'" >"$out/said" ||
    { cat "$out/said" >&2; exit 1; }
  while kill -0 "$(cat "$out/pid")" 2>/dev/null; do sleep 0.1; done
  rm "$out/pid"
}

if [ -n "$span" ]; then
  rm -f "$out/span" "$out/spans"
  counted "$jobs" "env TLS_SPANS=$out/spans LD_PRELOAD=$build/bench/tls_span_preload.so valgrind --tool=callgrind --collect-atstart=no --dump-instr=yes --compress-pos=no --compress-strings=no --callgrind-out-file=$out/span --log-file=$out/log"
  [ -s "$out/spans" ] || { echo 'profile: no event was followed by an apply: is OpenSSL linked statically?' >&2; exit 1; }
  # A line after "calls=" is what the callee took. Code counts where at least every other span came by.
  awk -v spans="$(<"$out/spans")" '
    /^ob=/ { object = $0; sub(/^ob=(.*\/)?/, "", object) }
    /^calls=/ { called = 1; next }
    /^0x/ { if (called) { called = 0; next } taken[object] += $3; at[object, $1] += $3 }
    END {
      for (each in at) {
        if (at[each] < spans / 2) continue
        split(each, part, SUBSEP)
        digits = length(part[2])
        line = substr(part[2], 1, digits - 2) int((index("0123456789abcdef", substr(part[2], digits - 1, 1)) - 1) / 4)
        if (!((part[1], line) in seen)) { seen[part[1], line] = 1; ++lines[part[1]] }
      }
      for (each in taken) {
        whole += taken[each] / spans
        all += lines[each]
        if (taken[each] / spans >= 50) printf "%10.0f  instructions %6d lines of code of 64 bytes  %s\n", taken[each] / spans, lines[each], each | "sort -rn"
      }
      close("sort -rn")
      printf "%10.0f  instructions %6d lines, of %d spans from an event to its apply\n", whole, all, spans
    }' "$out/span"
  exit
fi

for n in $jobs $((3 * jobs)); do
  counted $n "valgrind --tool=callgrind --callgrind-out-file=$out/callgrind.$n --log-file=$out/log"
  callgrind_annotate --threshold=100 --show-percs=no "$out/callgrind.$n" >"$out/functions.$n"
  counted $n "valgrind --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null --log-file=$out/misses.$n"
  counted $n "strace -f -c -U calls,name -o $out/calls.$n"
done

printf 'a job (%s, %s and %s jobs)\n\n' "$rate" "$jobs" $((3 * jobs))
# The first namespace in a function's name tells its room; of libraries without one the file of the program does.
awk -v few="$jobs" '
  function room(name) {
    if (name ~ /\[[^\]]*lib(crypto|ssl)/) return "TLS (OpenSSL)"
    if (name ~ /\[[^\]]*libnghttp2/) return "HTTP/2 and HPACK (nghttp2)"
    if (name ~ /\[[^\]]*(libc|ld-linux)[^\]]*\]/) return name ~ /malloc|free|realloc|calloc/ ? "malloc" : "C library: copies, clocks, system calls"
    if (match(name, /boost::asio|cotrain::[a-z0-9]+::|operator (new|delete)|nghttp2_|std::/)) {
      name = substr(name, RSTART, RLENGTH)
      if (name ~ /^cotrain/) { gsub(/cotrain|::/, "", name); return "src/" name }
      if (name ~ /^boost/) return "coroutines and event loop (Asio)"
      if (name ~ /^operator/) return "new and delete"
      if (name ~ /^std/) return "standard library"
    }
    return "everything else"
  }
  /PROGRAM TOTALS/ { gsub(/,/, "", $1); total[FILENAME] = $1; next }
  $1 ~ /^[0-9,]+$/ && $2 ~ /:/ { n = $1; gsub(/,/, "", n); sum[room($0)] += FILENAME == ARGV[1] ? -n : n }
  END {
    whole = (total[ARGV[2]] - total[ARGV[1]]) / (2 * few)
    printf "%10.0f  instructions\n", whole
    for (each in sum) printf "%10.0f  %4.1f %%  %s\n", sum[each] / (2 * few), sum[each] / (2 * few) / whole * 100, each | "sort -rn"
  }' "$out/functions.$jobs" "$out/functions.$((3 * jobs))"
echo
awk -v few="$jobs" '
  / (refs|misses):/ { name = $0; sub(/^==[0-9]+== */, "", name); sub(/:.*/, "", name); gsub(/ +/, " ", name)
    n = $0; sub(/^[^:]*: */, "", n); sub(/ .*/, "", n); gsub(/,/, "", n); v[FILENAME, name] = n; if (!(name in seen)) { seen[name] = 1; order[++k] = name } }
  END { for (i = 1; i <= k; ++i) printf "%10.0f  %s\n", (v[ARGV[2], order[i]] - v[ARGV[1], order[i]]) / (2 * few), order[i] }' \
  "$out/misses.$jobs" "$out/misses.$((3 * jobs))"
echo
awk -v few="$jobs" '
  $1 ~ /^[0-9]+$/ { sum[$2] += FILENAME == ARGV[1] ? -$1 : $1 }
  END { for (each in sum) if (sum[each] / (2 * few) >= 0.05) printf "%10.2f  %s\n", sum[each] / (2 * few), each == "total" ? "system calls" : each | "sort -rn" }' \
  "$out/calls.$jobs" "$out/calls.$((3 * jobs))"
