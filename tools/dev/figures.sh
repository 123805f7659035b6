#!/usr/bin/env bash
# Prints figures of the sources, of this tree or of a commit: tools/dev/figures.sh [COMMIT]
# A code line is neither blank nor only a comment. A statement ends in ';' or opens a block.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tree=$PWD
if [ $# -gt 0 ]; then
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  git archive "$1" src include | tar -x -C "$tree"
fi
cd "$tree"
# Until 938639c bench, playground and demo were files of src/app.
readonly apart='^src/(sim|ui|bench|playground)/|^src/app/(bench|box|demo|playground|page|timeline|example_texts|private_file|ending_signals)'
find src include -name '*.hpp' -o -name '*.cpp' -o -name '*.cpp.in' | sort | APART=$apart awk '
  function open_line(text) { return text ~ /\{$/ && text !~ /^ *(namespace|struct|class|enum|union|extern|using|inline constexpr|constexpr|const|static)[^(]*$/ }
  function code_of(text) { gsub(/"([^"\\]|\\.)*"/, "\"\"", text); sub(/ *\/\/.*$/, "", text); return text }
  {
    file = $0; lines = code = comments = statements = 0; long_start = 0
    while ((getline text < file) > 0) {
      lines++
      if (text ~ /^[ \t]*$/) continue
      if (text ~ /^[ \t]*\/\//) { comments++; continue }
      code++
      bare = code_of(text)
      statements += gsub(/;/, ";", bare) + (bare ~ /\{$/)
      # clang-format closes a function where it opened it: in column 0, or in 4 when it is a member inside of its class.
      if (text ~ /^}$/ && at == 0 && long_start) { if (lines - long_start - 1 > 70) long[++longs] = file ":" long_start; long_start = 0 }
      else if (text ~ /^    }$/ && at == 4 && long_start) { if (lines - long_start - 1 > 70) long[++longs] = file ":" long_start; long_start = 0 }
      else if (text ~ /^[^ #}]/ && open_line(text)) { long_start = lines; at = 0 }
      else if (!long_start && text ~ /^    [^ }]/ && open_line(text)) { long_start = lines; at = 4 }
    }
    close(file)
    split(file, part, "/"); room = part[1] == "include" ? "include" : part[2]
    files_of[room]++; lines_of[room] += lines; text_of[room] += code + comments; code_of_room[room] += code
    files++; all_lines += lines; all_code += code; all_comments += comments; all_statements += statements
    sizes[files] = lines
    if (file !~ ENVIRON["APART"]) { product_files++; product_lines += lines; product_text += code + comments; product_code += code }
  }
  END {
    printf "%-12s %6s %8s %9s %8s\n", "room", "files", "lines", "no blanks", "code"
    count = 0
    for (room in files_of) names[++count] = room
    for (i = 1; i <= count; i++) for (j = i + 1; j <= count; j++) if (names[j] < names[i]) { swap = names[i]; names[i] = names[j]; names[j] = swap }
    for (i = 1; i <= count; i++) printf "%-12s %6d %8d %9d %8d\n", names[i], files_of[names[i]], lines_of[names[i]], text_of[names[i]], code_of_room[names[i]]
    printf "%-12s %6d %8d %9d %8d\n", "all", files, all_lines, all_code + all_comments, all_code
    printf "%-12s %6d %8d %9d %8d   without simulator, bench and playground\n\n", "product", product_files, product_lines, product_text, product_code
    for (i = 2; i <= files; i++) { value = sizes[i]; for (j = i - 1; j > 0 && sizes[j] > value; j--) sizes[j + 1] = sizes[j]; sizes[j + 1] = value }
    printf "median file            %d lines\n", sizes[int((files + 1) / 2)]
    printf "comments               %.1f %% of the lines that are not blank\n", 100 * all_comments / (all_comments + all_code)
    printf "statements             %.3f a code line\n", all_statements / all_code
    printf "functions over 70 lines %d\n", longs + 0
    for (i = 1; i <= longs; i++) print "  " long[i]
  }'
