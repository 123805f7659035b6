// Looking at documents: lookups, numbers, equality, copies.
#include "doc/tree.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "base/encoding.hpp"
#include "doc/text_scan.hpp"

namespace cotrain::doc {

namespace {

// Empty containers are all the same one.
constinit detail::container no_members{nullptr, nullptr, "{}", 2, 0, 0, true};
constinit detail::container no_items{nullptr, nullptr, "[]", 2, 0, 0, true};

std::optional<double> to_double(std::string_view digits) {
    double number = 0;
    const auto [end, problem] = base::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem == std::errc::result_out_of_range) return std::nullopt;
    if (problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return number;
}

bool equal_numbers(ref a, ref b) {
    if (a.text() == b.text()) return true;
    const auto left = a.as_int();
    const auto right = b.as_int();
    if (left && right) return *left == *right;
    if (left.has_value() != right.has_value()) return false;
    const auto x = a.as_double();
    return x && x == b.as_double();
}

// Sorted by name, for comparing large objects without a search per member.
std::vector<const member*> sorted(ref object) {
    std::vector<const member*> list;
    list.reserve(object.size());
    for (const member& m : object.members()) list.push_back(&m);
    std::ranges::sort(list, {}, [](const member* m) { return m->key(); });
    return list;
}

bool equal_objects(ref a, ref b) {
    constexpr std::size_t search_max = 32;
    const auto left = a.members();
    const auto right = b.members();
    std::size_t in_step = 0;
    while (in_step < left.size() && left[in_step].key() == right[in_step].key()) {
        if (!equal(left[in_step].value, right[in_step].value)) return false;
        ++in_step;
    }
    if (left.size() - in_step > search_max) {
        const auto x = sorted(a);
        const auto y = sorted(b);
        return std::ranges::equal(
            x, y, [](const member* m, const member* n) { return m->key() == n->key() && equal(m->value, n->value); });
    }
    return std::ranges::all_of(left.subspan(in_step), [&](const member& m) { return equal(m.value, b.get(m.key())); });
}

}  // namespace

std::string_view to_string(kind k) {
    switch (k) {
        case kind::absent: return "nothing";
        case kind::null: return "null";
        case kind::boolean: return "a boolean";
        case kind::number: return "a number";
        case kind::string: return "a string";
        case kind::array: return "a list";
        case kind::object: return "an object";
    }
    return "nothing";
}

ref ref::get(std::string_view key) const {
    for (const member& m : members()) {
        if (m.key() == key) return m.value;
    }
    return {};
}

ref ref::get(std::initializer_list<std::string_view> path) const {
    ref at = *this;
    for (const std::string_view key : path) at = at.get(key);
    return at;
}

ref ref::at(std::size_t index) const {
    const auto list = items();
    return index < list.size() ? list[index] : ref{};
}

std::optional<std::size_t> ref::index_by(std::string_view key, std::string_view wanted) const {
    const auto list = items();
    for (std::size_t i = 0; i < list.size(); ++i) {
        const ref v = list[i].get(key);
        if (v.is_string() && v.text() == wanted) return i;
    }
    return std::nullopt;
}

ref ref::find_by(std::string_view key, std::string_view wanted) const {
    const auto index = index_by(key, wanted);
    return index ? items()[*index] : ref{};
}

std::optional<bool> ref::as_bool() const {
    if (kind_ != kind::boolean) return std::nullopt;
    return size_ != 0;
}

std::optional<std::int64_t> ref::as_int() const {
    if (kind_ != kind::number) return std::nullopt;
    const std::string_view digits = text();
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool whole = end == digits.data() + digits.size();
    if (problem == std::errc() && whole) return number;
    if (whole) return std::nullopt;
    // Fractions and exponents mean what they mean to the API server: a float64.
    constexpr double limit = 0x1p63;
    const auto value = to_double(digits);
    if (!value || *value != std::trunc(*value) || *value < -limit || *value >= limit) return std::nullopt;
    return static_cast<std::int64_t>(*value);
}

std::optional<double> ref::as_double() const { return kind_ == kind::number ? to_double(text()) : std::nullopt; }

bool ref::same(ref other) const {
    if (kind_ != other.kind_) return false;
    if (is_container()) return data_ == other.data_;
    if (kind_ == kind::boolean) return size_ == other.size_;
    return text() == other.text();
}

ref ref::make_string(std::string_view text) {
    const char* const end = text.data() + text.size();
    const bool plain = find_special(text.data(), end) == end;
    return {kind::string, text.data(), static_cast<std::uint32_t>(text.size()), plain};
}

ref ref::make_int(arena& memory, std::int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    return make_number(memory.copy({digits, static_cast<std::size_t>(end.ptr - digits)}));
}

ref ref::empty_object() { return {kind::object, &no_members, 0, false}; }
ref ref::empty_array() { return {kind::array, &no_items, 0, false}; }

bool equal(ref a, ref b) {
    if (a.type() != b.type()) return false;
    if (a.is_number()) return equal_numbers(a, b);
    if (!a.is_container() || a.same(b)) return a.same(b);
    if (a.size() != b.size()) return false;
    if (a.is_object()) return equal_objects(a, b);
    return std::ranges::equal(a.items(), b.items(), [](ref x, ref y) { return equal(x, y); });
}

bool identical(ref a, ref b) {
    if (a.type() != b.type()) return false;
    if (a.same(b)) return true;
    if (!a.is_container() || a.size() != b.size()) return false;
    if (a.is_array()) return std::ranges::equal(a.items(), b.items(), [](ref x, ref y) { return identical(x, y); });
    return std::ranges::equal(a.members(), b.members(), [](const member& x, const member& y) {
        return x.key() == y.key() && identical(x.value, y.value);
    });
}

namespace {

ref copy_scalar(arena& memory, ref value) {
    if (!value.is_string() && !value.is_number()) return value;
    const std::string_view text = memory.copy(value.text());
    return {value.type(), text.data(), static_cast<std::uint32_t>(text.size()), value.plain()};
}

}  // namespace

ref deep_copy(arena& memory, ref value) {
    if (!value.is_container()) return copy_scalar(memory, value);
    if (value.empty()) return value.is_object() ? ref::empty_object() : ref::empty_array();
    if (memory.exceeded()) return ref::make_null();
    const bool object = value.is_object();
    const auto size = static_cast<std::uint32_t>(value.size());
    const std::size_t slot = object ? sizeof(member) : sizeof(ref);
    auto* const body = new (memory.allocate(sizeof(detail::container))) detail::container;
    body->slots = memory.allocate(slot * size);
    body->size = body->capacity = size;
    body->attached = true;
    if (object) {
        auto* out = static_cast<member*>(body->slots);
        for (const member& m : value.members()) {
            new (out++) member{copy_scalar(memory, m.name), deep_copy(memory, m.value)};
        }
    } else {
        auto* out = static_cast<ref*>(body->slots);
        for (const ref item : value.items()) new (out++) ref(deep_copy(memory, item));
    }
    return {value.type(), body, 0, false};
}

}  // namespace cotrain::doc
