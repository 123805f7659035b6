#include "sim/field_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::sim {

namespace {

struct spelling {
    step what;
    std::string_view prefix;
};
constexpr std::array spellings{spelling{step::field, "f:"}, spelling{step::key, "k:"}, spelling{step::value, "v:"},
                               spelling{step::index, "i:"}};

// Names sorted, numbers in their one spelling; nothing if it is no object.
std::optional<std::string> canonical_keys(doc::ref keys) {
    if (!keys.is_object()) return std::nullopt;
    std::vector<std::pair<std::string, std::string>> sorted;
    for (const doc::member& m : keys.members()) sorted.emplace_back(m.key(), scalar_text(m.value));
    std::ranges::sort(sorted);
    std::string out = "{";
    for (const auto& [name, text] : sorted) {
        if (out.size() > 1) out += ',';
        out += doc::to_json(doc::ref::make_string(name)) + ':' + text;
    }
    return out + '}';
}

auto place_of(auto& entries, const path_element& element) {
    return std::ranges::lower_bound(entries, element, {}, &field_entry::element);
}

}  // namespace

std::string scalar_text(doc::ref scalar) {
    if (const auto whole = scalar.is_number() ? scalar.as_int() : std::nullopt) return fmt::format("{}", *whole);
    return doc::to_json(scalar);
}

std::string to_wire(const path_element& element) {
    for (const spelling& each : spellings) {
        if (each.what == element.what) return std::string{each.prefix} + element.text;
    }
    return {};
}

std::optional<path_element> from_wire(std::string_view text) {
    for (const spelling& each : spellings) {
        if (!text.starts_with(each.prefix)) continue;
        const std::string_view rest = text.substr(each.prefix.size());
        if (each.what == step::field || each.what == step::index) return path_element{each.what, std::string{rest}};
        doc::arena memory;
        const auto read = doc::parse_json(memory, rest);
        if (!read) return std::nullopt;
        if (each.what == step::value) return path_element{each.what, scalar_text(*read)};
        auto keys = canonical_keys(*read);
        if (!keys) return std::nullopt;
        return path_element{each.what, std::move(*keys)};
    }
    return std::nullopt;
}

std::string to_string(const path_element& element) {
    switch (element.what) {
        case step::field: return "." + element.text;
        case step::index: return "[" + element.text + "]";
        case step::value: return "[=" + element.text + "]";
        case step::key: break;
    }
    doc::arena memory;
    const auto keys = doc::parse_json(memory, element.text);
    std::string out = "[";
    for (const doc::member& m : keys ? keys->members() : std::span<const doc::member>{}) {
        if (out.size() > 1) out += ',';
        out += fmt::format("{}={}", m.key(), doc::to_json(m.value));
    }
    return out + "]";
}

std::string to_string(const path& whole) {
    std::string out;
    for (const path_element& each : whole) out += to_string(each);
    return out;
}

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

doc::ref write_fields(doc::arena& memory, const field_set& set) {
    doc::editor out = doc::editor::object(memory);
    for (const field_entry& entry : set.entries()) {
        const doc::ref below = write_fields(memory, entry.below);
        if (!entry.itself || entry.below.empty()) {
            out.set(to_wire(entry.element), below);
            continue;
        }
        doc::editor both = doc::editor::object(memory);
        both.set(".", doc::ref::empty_object());
        for (const doc::member& m : below.members()) both.set(m.key(), m.value);
        out.set(to_wire(entry.element), both);
    }
    return out;
}

field_set read_fields(doc::ref fields) {
    field_set out;
    for (const doc::member& m : fields.members()) {
        auto element = from_wire(m.key());
        if (!element) continue;
        field_set below = read_fields(m.value);
        const bool itself = below.empty() || m.value.contains(".");
        out.insert(std::move(*element), itself, std::move(below));
    }
    return out;
}

}  // namespace cotrain::sim
