#!/usr/bin/env bash
# Draws how plans and endpoints grow with the number of pods, from 1 to a million: a table and growth.svg.
#   bench/growth.sh BUILD [OUT]    BUILD: a build with the bench preset; OUT: where growth.svg goes (default: here)
set -euo pipefail
build=${1:?usage: bench/growth.sh BUILD [OUT]}
out=${2:-.}
measure() { "$build/bench/$1" --benchmark_filter="$2" --benchmark_format=csv --benchmark_min_time=0.2s 2>/dev/null; }

# name,pods,microseconds
points=$({
  measure plan_bench 'plan_'
  measure endpoints_bench 'endpoints_into_warm_buffer'
} | awk -F, '$1 ~ /^"/ {
  gsub(/"/, "", $1); gsub(/"/, "", $5)
  split($1, at, "/")
  scale = $5 == "ns" ? 1e-3 : $5 == "ms" ? 1e3 : 1
  printf "%s,%d,%.6f\n", at[1], at[2], $4 * scale
}' | sort -t, -k1,1 -k2,2n)
[ -n "$points" ] || { echo "growth: the benches under $build gave no figures" >&2; exit 1; }

printf '%-30s %10s %14s\n' what pods microseconds
awk -F, '{ printf "%-30s %10d %14.3f\n", $1, $2, $3 }' <<<"$points"

# Both axes are logarithmic: what grows in proportion is a straight line upwards, what does not grow a level one.
awk -F, '
  function x(pods) { return 70 + log(pods) / log(10) * 95 }
  function y(time) { return 340 - (log(time) / log(10) + 3) * 45 }
  BEGIN {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"820\" height=\"400\" font-family=\"sans-serif\" font-size=\"12\">"
    print "<rect width=\"820\" height=\"400\" fill=\"white\"/>"
    for (i = 0; i <= 6; ++i)
      printf "<path d=\"M%d 70V340\" stroke=\"#ddd\"/><text x=\"%d\" y=\"358\" text-anchor=\"middle\">10^%d</text>\n", x(10 ^ i), x(10 ^ i), i
    for (i = -3; i <= 3; ++i)
      printf "<path d=\"M70 %dH640\" stroke=\"#ddd\"/><text x=\"62\" y=\"%d\" text-anchor=\"end\">10^%d µs</text>\n", y(10 ^ i), y(10 ^ i) + 4, i
    print "<text x=\"355\" y=\"385\" text-anchor=\"middle\">pods</text>"
    split("#1f77b4 #d62728 #2ca02c", colour, " ")
  }
  $1 != last { if (last != "") print "\"/>"; last = $1; ++n
    printf "<text x=\"650\" y=\"%d\" fill=\"%s\">%s</text>\n<path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"M", 90 + 20 * n, colour[n], $1, colour[n]
    printf "%.1f %.1f", x($2), y($3); next }
  { printf "L%.1f %.1f", x($2), y($3) }
  END { print "\"/>"; print "</svg>" }' <<<"$points" >"$out/growth.svg"
echo "growth: $out/growth.svg"
