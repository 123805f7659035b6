// Sets of paths inside an object: what a manager owns, what an update changed.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "api/arena.hpp"
#include "api/tree.hpp"
#include "sim/path_element.hpp"

namespace cotrain::sim {

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
[[nodiscard]] api::ref write_fields(api::arena& memory, const field_set& set);
// Elements of kinds that are not known are left out.
[[nodiscard]] field_set read_fields(api::ref fields);

}  // namespace cotrain::sim
