// Object uids in 16 bytes: UUIDs as numbers, anything else as an interned text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "watch/text_table.hpp"

namespace cotrain::watch {

struct uid {
    std::uint64_t high = 0;
    std::uint64_t low = 0;  // all ones: `high` is a text

    [[nodiscard]] bool operator==(const uid&) const = default;
    [[nodiscard]] bool empty() const { return high == 0 && low == 0; }
};

// Takes a use of the text if the uid is none of a UUID's shape; release_uid() gives it back.
[[nodiscard]] uid make_uid(text_table& texts, std::string_view text);
// The uid without taking a use; empty if it is a text that is not in use, so equal to no object's.
[[nodiscard]] uid find_uid(const text_table& texts, std::string_view text);
void release_uid(text_table& texts, uid u);
[[nodiscard]] std::string to_text(const text_table& texts, uid u);

}  // namespace cotrain::watch
