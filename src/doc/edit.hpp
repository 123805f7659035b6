// Changing documents: copy-on-write along the path of the edit, everything else stays shared.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "doc/tree.hpp"

namespace cotrain::doc {

class editor;

// Text that the program itself holds, like most names of members: it lives as long as any document and needs no
// escaping, which is checked when the program is compiled, so that it is stored as it is. Any other text is copied.
class word {
   public:
    template <class T>
        requires std::convertible_to<const T&, std::string_view>
    consteval word(const T& text) : text_(text), constant_(true) {  // NOLINT(google-explicit-constructor)
        for (const char c : text_) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte < 0x20 || byte >= 0x80 || c == '"' || c == '\\') throw "this text needs escaping: word::copied()";
        }
    }
    // Other text that lives as long and needs no escaping, on the caller's word.
    [[nodiscard]] static word lasting(std::string_view text) { return {text, true}; }
    [[nodiscard]] static word copied(std::string_view text) { return {text, false}; }

    [[nodiscard]] constexpr std::string_view text() const { return text_; }
    [[nodiscard]] constexpr bool constant() const { return constant_; }
    [[nodiscard]] ref store(arena& memory) const {
        return constant_ ? ref::make_plain_string(text_) : ref::make_string(memory.copy(text_));
    }

   private:
    constexpr word(std::string_view text, bool constant) : text_(text), constant_(constant) {}

    std::string_view text_;
    bool constant_;
};

// Text that is not known before the program runs.
template <class T>
concept running_text =
    std::same_as<T, std::string_view> || std::same_as<T, std::string> || std::same_as<T, const char*>;

// What can be stored: scalars (text that is no word is copied into the arena), and documents (shared, not copied; they
// must live as long as the arena they are stored in).
class value {
   public:
    value(ref document) : ref_(document) {}                             // NOLINT(google-explicit-constructor)
    value(editor document);                                             // NOLINT(google-explicit-constructor)
    value(std::nullptr_t) : ref_(ref::make_null()) {}                   // NOLINT(google-explicit-constructor)
    value(std::string_view text) : text_(text), form_(form::text) {}    // NOLINT(google-explicit-constructor)
    value(const std::string& text) : text_(text), form_(form::text) {}  // NOLINT(google-explicit-constructor)
    value(const std::same_as<const char*> auto& text) : text_(text), form_(form::text) {}  // NOLINT
    constexpr value(word text)  // NOLINT(google-explicit-constructor)
        : ref_(text.constant() ? ref::make_plain_string(text.text()) : ref{}),
          text_(text.text()),
          form_(text.constant() ? form::document : form::text) {}
    template <std::size_t N>
    consteval value(const char (&text)[N]) : value(word(text)) {}        // NOLINT(google-explicit-constructor)
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
    editor ensure_object(word key);
    editor ensure_object(const running_text auto& key) { return ensure_object(word::copied(key)); }
    editor ensure_array(word key);
    editor ensure_array(const running_text auto& key) { return ensure_array(word::copied(key)); }
    editor ensure_object(std::initializer_list<word> path);

    // Objects. set() keeps the place of a member that exists, else appends.
    editor& set(word key, const value& v);
    editor& set(const running_text auto& key, const value& v) { return set(word::copied(key), v); }
    // Only where the member is absent or null.
    editor& set_default(word key, const value& v);
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
    editor ensure_entry(word key, std::string_view text);
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
    editor ensure(word key, kind wanted);

    arena* memory_ = nullptr;
    detail::container* body_ = nullptr;
    kind kind_ = kind::absent;
};

}  // namespace cotrain::doc
