// Documents of any shape: what JSON and YAML are read into, and how it is looked at. Nothing is projected away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "doc/arena.hpp"

namespace cotrain::doc {

enum class kind : std::uint8_t { absent, null, boolean, number, string, array, object };

// For messages: "a list", "a string", …
[[nodiscard]] std::string_view to_string(kind k);

// Readers refuse deeper documents: far above any real one (about 40), far below what recursion can take.
inline constexpr unsigned tree_depth_max = 500;

class ref;
struct member;

namespace detail {

// The body of an array or object. Frozen (owner null): shared by any number of documents, changed by none.
struct container {
    const arena* owner = nullptr;  // whose edits may change it
    void* slots = nullptr;         // ref[] or member[]
    const char* text = nullptr;    // compact JSON, once freeze() has made it
    std::uint32_t text_bytes = 0;
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;
    bool attached = false;  // already part of a document
};

}  // namespace detail

// A value in a document: two words, copied freely, valid as long as the arena it came from. Absent values answer
// every question with "nothing", so lookups chain.
class ref {
   public:
    constexpr ref() = default;

    [[nodiscard]] kind type() const { return kind_; }
    [[nodiscard]] explicit operator bool() const { return kind_ != kind::absent; }
    [[nodiscard]] bool is_null() const { return kind_ == kind::null; }
    [[nodiscard]] bool is_bool() const { return kind_ == kind::boolean; }
    [[nodiscard]] bool is_number() const { return kind_ == kind::number; }
    [[nodiscard]] bool is_string() const { return kind_ == kind::string; }
    [[nodiscard]] bool is_array() const { return kind_ == kind::array; }
    [[nodiscard]] bool is_object() const { return kind_ == kind::object; }
    [[nodiscard]] bool is_container() const { return kind_ >= kind::array; }
    // Absent or null: what Kubernetes treats as not set.
    [[nodiscard]] bool is_unset() const { return kind_ <= kind::null; }

    // Items of an array, members of an object; 0 for everything else.
    [[nodiscard]] std::size_t size() const { return is_container() ? body()->size : 0; }
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] std::span<const ref> items() const;
    [[nodiscard]] std::span<const member> members() const;

    // The member of that name; absent if there is none or this is no object.
    [[nodiscard]] ref get(std::string_view key) const;
    [[nodiscard]] ref get(std::initializer_list<std::string_view> path) const;
    [[nodiscard]] bool contains(std::string_view key) const { return static_cast<bool>(get(key)); }
    // The item at that place; absent if there is none or this is no array.
    [[nodiscard]] ref at(std::size_t index) const;
    // The first item whose member `key` is the string `text`, and its place.
    [[nodiscard]] ref find_by(std::string_view key, std::string_view text) const;
    [[nodiscard]] std::optional<std::size_t> index_by(std::string_view key, std::string_view text) const;

    // The bytes of a string or the digits of a number as written; empty for everything else.
    [[nodiscard]] std::string_view text() const;
    [[nodiscard]] std::string_view as_string(std::string_view otherwise = {}) const;
    [[nodiscard]] std::optional<bool> as_bool() const;
    [[nodiscard]] bool as_bool(bool otherwise) const { return as_bool().value_or(otherwise); }
    // A number that is an integer in 64 bits, however it is written (3, 3.0, 3e0).
    [[nodiscard]] std::optional<std::int64_t> as_int() const;
    [[nodiscard]] std::int64_t as_int(std::int64_t otherwise) const { return as_int().value_or(otherwise); }
    [[nodiscard]] std::optional<double> as_double() const;

    // Whether both are the same value in memory: same container, or same bytes. Equal then, without a look inside.
    [[nodiscard]] bool same(ref other) const;

    // Scalars; `text` must outlive the value, arena::copy() sees to that.
    [[nodiscard]] static ref make_null() { return {kind::null, nullptr, 0, false}; }
    [[nodiscard]] static ref make_bool(bool value) { return {kind::boolean, nullptr, value ? 1U : 0U, false}; }
    [[nodiscard]] static ref make_string(std::string_view text);
    // As above for text that needs no escaping in JSON and is valid UTF-8.
    [[nodiscard]] static constexpr ref make_plain_string(std::string_view text) {
        return {kind::string, text.data(), static_cast<std::uint32_t>(text.size()), true};
    }
    [[nodiscard]] static ref make_number(std::string_view json_number) {
        return {kind::number, json_number.data(), static_cast<std::uint32_t>(json_number.size()), true};
    }
    [[nodiscard]] static ref make_int(arena& memory, std::int64_t value);
    [[nodiscard]] static ref empty_object();
    [[nodiscard]] static ref empty_array();

    // For readers and writers of documents.
    constexpr ref(kind k, const void* data, std::uint32_t size, bool plain)
        : data_(data), size_(size), kind_(k), plain_(plain) {}
    [[nodiscard]] bool plain() const { return plain_; }
    [[nodiscard]] detail::container* body() const { return static_cast<detail::container*>(const_cast<void*>(data_)); }

   private:
    const void* data_ = nullptr;
    std::uint32_t size_ = 0;
    kind kind_ = kind::absent;
    bool plain_ = false;
};

struct member {
    ref name;  // a string
    ref value;

    [[nodiscard]] std::string_view key() const { return name.text(); }
};

inline std::span<const ref> ref::items() const {
    if (kind_ != kind::array) return {};
    return {static_cast<const ref*>(body()->slots), body()->size};
}
inline std::span<const member> ref::members() const {
    if (kind_ != kind::object) return {};
    return {static_cast<const member*>(body()->slots), body()->size};
}
inline std::string_view ref::text() const {
    if (kind_ != kind::string && kind_ != kind::number) return {};
    return {static_cast<const char*>(data_), size_};
}
inline std::string_view ref::as_string(std::string_view otherwise) const {
    return kind_ == kind::string ? std::string_view{static_cast<const char*>(data_), size_} : otherwise;
}

// Equality of documents: members in any order, numbers by value. Absent equals only absent.
[[nodiscard]] bool equal(ref a, ref b);
// The same with members in the same order and numbers written alike.
[[nodiscard]] bool identical(ref a, ref b);

// A frozen copy that shares nothing with the source. Cut short where `memory` is exceeded, which its owner asks.
[[nodiscard]] ref deep_copy(arena& memory, ref value);

// Ends all edits of a document and keeps its compact JSON in `memory`, so that writing any part of it later is one
// copy. Parts that live in other arenas are frozen, but keep no text here. A text that is larger than what `memory` may
// hold is not made, and exhausts it.
ref freeze(arena& memory, ref document);

}  // namespace cotrain::doc
