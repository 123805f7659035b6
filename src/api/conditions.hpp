// Conditions of a status and the rules by which they change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "doc/decode.hpp"
#include "doc/edit.hpp"

namespace cotrain::api {

enum class condition_status : std::uint8_t { no, yes, unknown };
[[nodiscard]] std::string_view to_string(condition_status s);  // "False", "True", "Unknown"

// Owns its text: conditions are made by us and outlive what they were read from.
struct condition {
    std::string type;
    condition_status status = condition_status::unknown;
    std::string reason;
    std::string message;
    base::seconds_time last_transition_time{};  // epoch = not set
    std::int64_t observed_generation = 0;

    [[nodiscard]] bool operator==(const condition&) const = default;
};

// Whether the API server takes `text` as a condition's reason; one that it does not makes it refuse the whole status.
[[nodiscard]] bool is_condition_reason(std::string_view text);

using condition_list = std::vector<condition>;

[[nodiscard]] const condition* find_condition(const condition_list& list, std::string_view type);
[[nodiscard]] bool is_true(const condition_list& list, std::string_view type);

// Puts `next` in: a new type is appended, a known one stays in its place and its time moves only when its status
// does. The time is next's own if set, else `now`. Returns whether anything changed.
bool set_condition(condition_list& list, condition next, base::seconds_time now);
bool remove_condition(condition_list& list, std::string_view type);

// Reads the member "conditions" of `status`; entries without a type are left out.
[[nodiscard]] condition_list decode_conditions(const doc::place& status);
[[nodiscard]] doc::ref encode_conditions(doc::arena& memory, const condition_list& list);

}  // namespace cotrain::api
