// The files of the page, which became part of the program when it was built.
#pragma once

#include <span>
#include <string_view>

namespace cotrain::ui {

struct page_file {
    std::string_view name;
    std::string_view type;
    std::string_view text;
};

[[nodiscard]] std::span<const page_file> page_files();
// Null if there is none of that name.
[[nodiscard]] const page_file* find_page_file(std::string_view name);

}  // namespace cotrain::ui
