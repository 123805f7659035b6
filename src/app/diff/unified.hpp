// Two texts line by line, as diff -u shows them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cotrain::app {

inline constexpr std::size_t diff_context_lines = 3;
// Where the texts differ in more lines, all between their first and their last difference is shown as replaced.
inline constexpr std::size_t diff_edits_max = 2000;

// "--- from", "+++ to" and hunks; empty where the texts are the same.
[[nodiscard]] std::string unified_diff(std::string_view before, std::string_view after, std::string_view from,
                                       std::string_view to);

}  // namespace cotrain::app
