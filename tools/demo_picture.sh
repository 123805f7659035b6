#!/usr/bin/env bash
# Draws a run of `cotrain demo` as an SVG: each line appears when it was printed, and stays.
# Usage: demo_picture.sh PROGRAM >docs/demo.svg
set -euo pipefail
program=${1:?the program to run}
TERM=dumb NO_COLOR=1 "$program" demo 2>&1 | awk '
  function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text); return text }
  function line(at, class, text) { count++; time[count] = at; kind[count] = class; words[count] = text }
  BEGIN { line(0, "said", "$ cotrain demo") }
  /^ *[0-9]+ ms / {
    if (!begun) { first = $1; begun = 1 }
    last = $1 - first
    class = /Complete=True/ ? "good" : /applied by/ ? "ours" : /created$/ ? "said" : "rest"
    line(last, class, substr($0, 1, 100))
    next
  }
  /^What it took/ { took = 1; line(last + 200, "said", ""); line(last + 200, "said", $0); next }
  took && (/JobSet after/ || /operator.s wire/ || /all of it/) { line(last + 400, /JobSet after/ ? "good" : "rest", substr($0, 1, 100)) }
  END {
    if (!took) { print "demo_picture.sh: the demo did not end" > "/dev/stderr"; exit 1 }
    height = 44 + count * 19
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 %d\" role=\"img\" aria-labelledby=\"t\">\n", height
    print "<title id=\"t\">cotrain demo: two TrainJobs from created to Complete on an API server in the same process</title>"
    print "<style>text{font:14px/1 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#c9d1d9;animation:show .01s both}"
    print ".said{fill:#f0f6fc;font-weight:600}.ours{fill:#79c0ff}.good{fill:#56d364;font-weight:600}.rest{fill:#8b949e}"
    print "@keyframes show{from{opacity:0}to{opacity:1}}@media(prefers-reduced-motion:reduce){text{animation:none}}</style>"
    printf "<rect width=\"900\" height=\"%d\" rx=\"8\" fill=\"#0d1117\"/><circle cx=\"20\" cy=\"18\" r=\"6\" fill=\"#ff5f56\"/><circle cx=\"40\" cy=\"18\" r=\"6\" fill=\"#ffbd2e\"/><circle cx=\"60\" cy=\"18\" r=\"6\" fill=\"#27c93f\"/>\n", height
    for (i = 1; i <= count; i++)
      printf "<text x=\"16\" y=\"%d\" class=\"%s\" style=\"animation-delay:%.2fs\" xml:space=\"preserve\">%s</text>\n", 48 + (i - 1) * 19, kind[i], time[i] / 400, escaped(words[i])
    print "</svg>"
  }'
