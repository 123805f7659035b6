#!/usr/bin/env bash
# How plans and host names grow with the number of pods, from 1 to a million: a table, and a drawing of it.
#   bench/growth.sh BUILD [OUT]    BUILD: a build with the bench preset; OUT: where scale-pods.svg goes (default: here)
set -euo pipefail
build=${1:?usage: bench/growth.sh BUILD [OUT]}
out=${2:-.}
# measure BENCH FILTER: lines of "name pods microseconds memory bytes"; 0 where a bench does not count one
measure() {
  "$build/bench/$1" --benchmark_filter="$2" --benchmark_format=csv --benchmark_min_time=0.2s 2>/dev/null | awk -F, '
    { gsub(/"/, "") }
    $1 == "name" { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    !at["cpu_time"] { next }
    { split($1, part, "/")
      scale = $at["time_unit"] == "ns" ? 1e-3 : $at["time_unit"] == "ms" ? 1e3 : 1
      printf "%s %d %.6f %d %d\n", part[1], part[2], $at["cpu_time"] * scale,
        at["memory"] ? $at["memory"] : $at["heap_bytes"], at["bytes"] ? $at["bytes"] : 0 }'
}
points=$({
  measure plan_bench 'plan_'
  measure endpoints_bench 'endpoints_of_a_range|hostfile_into_fresh_memory'
} | sort -k1,1 -k2,2n)
[ -n "$points" ] || { echo "growth: the benches under $build gave no figures" >&2; exit 1; }

printf '%-30s %10s %14s %14s %12s\n' what pods microseconds memory bytes
awk '{ printf "%-30s %10d %14.3f %14d %12d\n", $1, $2, $3, $4, $5 }' <<<"$points"

# Both axes are logarithmic: what grows in proportion is a straight line upwards, what does not grow a level one.
awk '
  function x(pods) { return 70 + log(pods) / log(10) * 95 }
  function y(time) { return 340 - (log(time) / log(10) + 2) * 42 }
  BEGIN {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"400\" font-family=\"sans-serif\" font-size=\"12\">"
    print "<rect width=\"860\" height=\"400\" fill=\"white\"/>"
    for (i = 0; i <= 6; ++i)
      printf "<path d=\"M%d 60V340\" stroke=\"#ddd\"/><text x=\"%d\" y=\"358\" text-anchor=\"middle\">10^%d</text>\n", x(10 ^ i), x(10 ^ i), i
    for (i = -2; i <= 4; ++i)
      printf "<path d=\"M70 %dH640\" stroke=\"#ddd\"/><text x=\"62\" y=\"%d\" text-anchor=\"end\">10^%d µs</text>\n", y(10 ^ i), y(10 ^ i) + 4, i
    print "<text x=\"355\" y=\"385\" text-anchor=\"middle\">pods</text>"
    split("#1f77b4 #d62728 #2ca02c", colour, " ")
    title["plan_torch"] = "plan of a Torch job"; title["plan_mpi"] = "plan of an MPI job"; title["endpoints_of_a_range"] = "host names as a range"
  }
  !title[$1] { next }
  $1 != last { if (last != "") print "\"/>"; last = $1; ++n
    printf "<text x=\"650\" y=\"%d\" fill=\"%s\">%s</text>\n<path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"M", 70 + 20 * n, colour[n], title[$1], colour[n]
    printf "%.1f %.1f", x($2), y($3); next }
  { printf "L%.1f %.1f", x($2), y($3) }
  END { print "\"/>"; print "</svg>" }' <<<"$points" >"$out/scale-pods.svg"
echo "growth: $out/scale-pods.svg"
