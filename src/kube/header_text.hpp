// What may stand in a header: the one check that keeps credentials from files out of other headers.
#pragma once

#include <algorithm>
#include <string_view>

namespace cotrain::kube {

// Printable ASCII without spaces: tokens, host names.
[[nodiscard]] inline bool visible_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

// Anything but control bytes: values of headers.
[[nodiscard]] inline bool header_text(std::string_view text) {
    return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

}  // namespace cotrain::kube
