// Changing documents: copy-on-write along the path of the edit, everything else stays shared.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/tree.hpp"

namespace cotrain::api {

class editor;

// What can be stored: scalars (text is copied into the arena), and documents (shared, not copied; they must live as
// long as the arena they are stored in).
class value {
   public:
    value(ref document) : ref_(document) {}                              // NOLINT(google-explicit-constructor)
    value(editor document);                                              // NOLINT(google-explicit-constructor)
    value(std::nullptr_t) : ref_(ref::make_null()) {}                    // NOLINT(google-explicit-constructor)
    value(std::string_view text) : text_(text), form_(form::text) {}     // NOLINT(google-explicit-constructor)
    value(const std::string& text) : text_(text), form_(form::text) {}   // NOLINT(google-explicit-constructor)
    value(const char* text) : text_(text), form_(form::text) {}          // NOLINT(google-explicit-constructor)
    value(std::same_as<bool> auto flag) : ref_(ref::make_bool(flag)) {}  // NOLINT(google-explicit-constructor)
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    value(T number) : number_(static_cast<std::int64_t>(number)), form_(form::number) {}  // NOLINT

    [[nodiscard]] ref store(arena& memory) const;

   private:
    enum class form : std::uint8_t { document, attach, text, number };
    ref ref_{};
    std::string_view text_{};
    std::int64_t number_ = 0;
    form form_ = form::document;
};

// An object or array that this arena's edits may change. Valid as long as the arena; editors of parents and children
// stay valid side by side. An editor stored with set() or append() becomes part of that document and stays editable;
// a ref stored there is frozen first. Storing the same editor twice freezes it. Changing what is frozen is a bug and
// throws std::logic_error.
class editor {
   public:
    editor() = default;
    [[nodiscard]] static editor object(arena& memory);
    [[nodiscard]] static editor array(arena& memory);
    // An editable version of `document`: the document itself where this arena owns it, else a copy of its top level.
    // Nothing if it is neither object nor array.
    [[nodiscard]] static editor of(arena& memory, ref document);

    [[nodiscard]] explicit operator bool() const { return body_ != nullptr; }
    // The document as it is now. Later edits show in it until it is stored somewhere or frozen.
    [[nodiscard]] ref view() const;
    operator ref() const { return view(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] arena& memory() const { return *memory_; }

    // Reading, as on ref.
    [[nodiscard]] kind type() const { return kind_; }
    [[nodiscard]] std::size_t size() const { return view().size(); }
    [[nodiscard]] ref get(std::string_view key) const { return view().get(key); }
    [[nodiscard]] ref get(std::initializer_list<std::string_view> path) const { return view().get(path); }
    [[nodiscard]] ref at(std::size_t index) const { return view().at(index); }
    [[nodiscard]] bool contains(std::string_view key) const { return view().contains(key); }

    // The object or array below, made editable; nothing where there is none.
    [[nodiscard]] editor child(std::string_view key);
    [[nodiscard]] editor child(std::size_t index);
    [[nodiscard]] editor child(std::initializer_list<std::string_view> path);
    // The same, made where it is missing; a value of another kind is replaced.
    editor ensure_object(std::string_view key);
    editor ensure_array(std::string_view key);
    editor ensure_object(std::initializer_list<std::string_view> path);

    // Objects. set() keeps the place of a member that exists, else appends.
    editor& set(std::string_view key, const value& v);
    // Only where the member is absent or null.
    editor& set_default(std::string_view key, const value& v);
    bool remove(std::string_view key);

    // Arrays.
    editor& append(const value& v);
    editor append_object();
    void insert(std::size_t index, const value& v);
    void replace(std::size_t index, const value& v);
    void remove(std::size_t index);
    void clear();
    void reserve(std::size_t slots);

    // Arrays of objects that have keys. The item whose member `key` is `text`: nothing where there is none…
    [[nodiscard]] editor entry(std::string_view key, std::string_view text);
    // …or appended as {key: text}.
    editor ensure_entry(std::string_view key, std::string_view text);
    // Replaces the item whose members `keys` all equal those of `item` (absent equals absent), else appends.
    void upsert_by(std::initializer_list<std::string_view> keys, const value& item);
    bool remove_by(std::string_view key, std::string_view text);

   private:
    friend class value;
    editor(arena& memory, kind k, detail::container* body) : memory_(&memory), body_(body), kind_(k) {}
    void check(kind expected) const;
    void grow(std::size_t slots);
    [[nodiscard]] editor open(ref& slot) const;
    [[nodiscard]] ref* find(std::string_view key) const;
    editor ensure(std::string_view key, kind wanted);

    arena* memory_ = nullptr;
    detail::container* body_ = nullptr;
    kind kind_ = kind::absent;
};

}  // namespace cotrain::api
