// The examples that `cotrain demo` applies, as the files under examples/ were when the program was built.
#pragma once

#include <span>
#include <string_view>

namespace cotrain::app {

struct example {
    std::string_view name;
    std::string_view text;
};

[[nodiscard]] std::span<const example> examples();

}  // namespace cotrain::app
