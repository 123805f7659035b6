// The examples that `cotrain demo` applies, which became part of the program when it was built.
#pragma once

#include <span>
#include <string_view>

namespace cotrain::playground {

struct example {
    std::string_view name;
    std::string_view text;
};

[[nodiscard]] std::span<const example> examples();

}  // namespace cotrain::playground
