// One step of a path inside an object, as managedFields name it (KEP-555).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/tree.hpp"

namespace cotrain::sim {

enum class step : std::uint8_t {
    field,  // a member of an object
    key,    // an item of a keyed list, by its keys as a JSON object with sorted names
    value,  // an item of a set, by its JSON
    index,  // an item by its place; met in foreign field sets only
};

struct path_element {
    step what = step::field;
    std::string text;

    [[nodiscard]] static path_element field(std::string_view name) { return {step::field, std::string{name}}; }
    auto operator<=>(const path_element&) const = default;
};
using path = std::vector<path_element>;

// JSON of a scalar in the one spelling by which equal values are found: 1, 1.0 and 1e0 are the same.
[[nodiscard]] std::string scalar_text(api::ref scalar);

// "f:spec", "k:{\"name\":\"a\"}", "v:\"x\"", "i:3"; nothing for a step of a kind that is not known.
[[nodiscard]] std::string to_wire(const path_element& element);
[[nodiscard]] std::optional<path_element> from_wire(std::string_view text);

// As conflicts show it: .spec.containers[name="a"].image
[[nodiscard]] std::string to_string(const path_element& element);
[[nodiscard]] std::string to_string(const path& whole);

}  // namespace cotrain::sim
