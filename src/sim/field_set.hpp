// Sets of fields, as managedFields has them, and the elements of their paths.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::sim {

// One step of a path inside an object, as managedFields name it (KEP-555).

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
[[nodiscard]] std::string scalar_text(doc::ref scalar);

// "f:spec", "k:{\"name\":\"a\"}", "v:\"x\"", "i:3"; nothing for a step of a kind that is not known.
[[nodiscard]] std::string to_wire(const path_element& element);
[[nodiscard]] std::optional<path_element> from_wire(std::string_view text);

// As conflicts show it: .spec.containers[name="a"].image
[[nodiscard]] std::string to_string(const path_element& element);
[[nodiscard]] std::string to_string(const path& whole);

// Sets of paths inside an object: what a manager owns, what an update changed.

struct field_entry;

// A tree of path elements, sorted. An element can be in the set itself, or only lead to others that are.
class field_set {
   public:
    [[nodiscard]] bool empty() const { return entries_.empty(); }
    [[nodiscard]] bool has(const path& where) const;
    // The element itself, and what lies below it; null if nothing does.
    [[nodiscard]] const field_entry* find(const path_element& element) const;
    [[nodiscard]] const std::vector<field_entry>& entries() const { return entries_; }

    void insert(const path& where);
    // Adds what a walk found at one element; nothing if it found nothing.
    void insert(path_element element, bool itself, field_set below);

    // Calls for every path in the set, in order.
    void each(const std::function<void(const path&)>& call) const;

    friend field_set unite(const field_set& a, const field_set& b);
    friend field_set intersect(const field_set& a, const field_set& b);
    // What is in `a` and not in `b`, element by element: an element of `b` says nothing about what lies below it…
    friend field_set subtract(const field_set& a, const field_set& b);
    // …or takes all of that with it.
    friend field_set subtract_trees(const field_set& a, const field_set& b);
    bool operator==(const field_set& other) const;

   private:
    void each(path& above, const std::function<void(const path&)>& call) const;

    std::vector<field_entry> entries_;
};

struct field_entry {
    path_element element;
    bool itself = false;
    field_set below{};

    bool operator==(const field_entry&) const = default;
};

[[nodiscard]] field_set unite(const field_set& a, const field_set& b);
[[nodiscard]] field_set intersect(const field_set& a, const field_set& b);
[[nodiscard]] field_set subtract(const field_set& a, const field_set& b);
[[nodiscard]] field_set subtract_trees(const field_set& a, const field_set& b);

// FieldsV1, the form of managedFields[].fieldsV1.
[[nodiscard]] doc::ref write_fields(doc::arena& memory, const field_set& set);
// Elements of kinds that are not known are left out.
[[nodiscard]] field_set read_fields(doc::ref fields);

}  // namespace cotrain::sim
