// Arithmetic of field sets, and their form on the wire.
#include "sim/field_set.hpp"

#include <algorithm>
#include <utility>

#include "api/edit.hpp"

namespace cotrain::sim {
namespace {

auto place_of(auto& entries, const path_element& element) {
    return std::ranges::lower_bound(entries, element, {}, &field_entry::element);
}

}  // namespace

const field_entry* field_set::find(const path_element& element) const {
    const auto at = place_of(entries_, element);
    return at != entries_.end() && at->element == element ? &*at : nullptr;
}

bool field_set::has(const path& where) const {
    const field_set* here = this;
    for (std::size_t i = 0; i < where.size(); ++i) {
        const field_entry* const found = here->find(where[i]);
        if (found == nullptr) return false;
        if (i + 1 == where.size()) return found->itself;
        here = &found->below;
    }
    return false;  // nobody owns a whole object
}

void field_set::insert(const path& where) {
    field_set* here = this;
    for (std::size_t i = 0; i < where.size(); ++i) {
        auto at = place_of(here->entries_, where[i]);
        if (at == here->entries_.end() || at->element != where[i])
            at = here->entries_.insert(at, {.element = where[i]});
        if (i + 1 == where.size()) at->itself = true;
        here = &at->below;
    }
}

void field_set::insert(path_element element, bool itself, field_set below) {
    if (!itself && below.empty()) return;
    const auto at = place_of(entries_, element);
    if (at == entries_.end() || at->element != element) {
        entries_.insert(at, {std::move(element), itself, std::move(below)});
        return;
    }
    at->itself = at->itself || itself;
    at->below = unite(at->below, below);
}

void field_set::each(const std::function<void(const path&)>& call) const {
    path above;
    each(above, call);
}

void field_set::each(path& above, const std::function<void(const path&)>& call) const {
    for (const field_entry& entry : entries_) {
        above.push_back(entry.element);
        if (entry.itself) call(above);
        entry.below.each(above, call);
        above.pop_back();
    }
}

bool field_set::operator==(const field_set& other) const { return entries_ == other.entries_; }

field_set unite(const field_set& a, const field_set& b) {
    field_set out;
    auto left = a.entries_.begin();
    auto right = b.entries_.begin();
    while (left != a.entries_.end() || right != b.entries_.end()) {
        if (right == b.entries_.end() || (left != a.entries_.end() && left->element < right->element)) {
            out.entries_.push_back(*left++);
        } else if (left == a.entries_.end() || right->element < left->element) {
            out.entries_.push_back(*right++);
        } else {
            out.entries_.push_back({left->element, left->itself || right->itself, unite(left->below, right->below)});
            ++left;
            ++right;
        }
    }
    return out;
}

field_set intersect(const field_set& a, const field_set& b) {
    field_set out;
    for (const field_entry& entry : a.entries_) {
        const field_entry* const other = b.find(entry.element);
        if (other == nullptr) continue;
        out.insert(entry.element, entry.itself && other->itself, intersect(entry.below, other->below));
    }
    return out;
}

field_set subtract(const field_set& a, const field_set& b) {
    field_set out;
    for (const field_entry& entry : a.entries_) {
        if (const field_entry* const other = b.find(entry.element); other == nullptr) {
            out.entries_.push_back(entry);
        } else {
            out.insert(entry.element, entry.itself && !other->itself, subtract(entry.below, other->below));
        }
    }
    return out;
}

field_set subtract_trees(const field_set& a, const field_set& b) {
    field_set out;
    for (const field_entry& entry : a.entries_) {
        if (const field_entry* const other = b.find(entry.element); other == nullptr) {
            out.entries_.push_back(entry);
        } else if (!other->itself) {
            out.insert(entry.element, entry.itself, subtract_trees(entry.below, other->below));
        }
    }
    return out;
}

api::ref write_fields(api::arena& memory, const field_set& set) {
    api::editor out = api::editor::object(memory);
    for (const field_entry& entry : set.entries()) {
        const api::ref below = write_fields(memory, entry.below);
        if (!entry.itself || entry.below.empty()) {
            out.set(to_wire(entry.element), below);
            continue;
        }
        api::editor both = api::editor::object(memory);
        both.set(".", api::ref::empty_object());
        for (const api::member& m : below.members()) both.set(m.key(), m.value);
        out.set(to_wire(entry.element), both);
    }
    return out;
}

field_set read_fields(api::ref fields) {
    field_set out;
    for (const api::member& m : fields.members()) {
        auto element = from_wire(m.key());
        if (!element) continue;
        field_set below = read_fields(m.value);
        const bool itself = below.empty() || m.value.contains(".");
        out.insert(std::move(*element), itself, std::move(below));
    }
    return out;
}

}  // namespace cotrain::sim
