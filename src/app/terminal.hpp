// What standard output and error are connected to, and what may be drawn there.
#pragma once

#include <cstddef>

namespace cotrain::app {

inline constexpr std::size_t columns_default = 80;

struct terminal {
    bool live = false;    // a line may be drawn again: a terminal that is not "dumb"
    bool colors = false;  // and NO_COLOR (no-color.org) is not set
    std::size_t columns = columns_default;
};

// Pure: `term` and `no_color` are the variables TERM and NO_COLOR, null where they are not set; `columns` 0: not known.
[[nodiscard]] terminal terminal_of(bool is_terminal, const char* term, const char* no_color, std::size_t columns);
// Of a file descriptor, now: windows change their size.
[[nodiscard]] terminal terminal_at(int descriptor);

}  // namespace cotrain::app
