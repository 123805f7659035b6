// Copy-on-write edits of documents.
#include "doc/edit.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace cotrain::doc {

namespace {

constexpr std::uint32_t slack = 4;  // slots that a copied or new container has to spare

[[noreturn]] void misuse(const char* what) { throw std::logic_error(what); }

std::size_t slot_bytes(kind k) { return k == kind::object ? sizeof(member) : sizeof(ref); }

detail::container* new_container(arena& memory, kind k, std::uint32_t capacity) {
    auto* const body = new (memory.allocate(sizeof(detail::container))) detail::container;
    body->owner = &memory;
    body->slots = memory.allocate(slot_bytes(k) * capacity);
    body->capacity = capacity;
    return body;
}

ref as_ref(kind k, const detail::container* body) { return {k, body, 0, false}; }

// Ends all edits below `document`. What is frozen has only frozen parts, so the walk stops there.
void seal(ref document) {
    if (!document.is_container() || document.body()->owner == nullptr) return;
    document.body()->owner = nullptr;
    for (const member& m : document.members()) seal(m.value);
    for (const ref item : document.items()) seal(item);
}

ref copy_top(arena& memory, ref document) {
    const auto size = static_cast<std::uint32_t>(document.size());
    auto* const body = new_container(memory, document.type(), size + slack);
    if (size != 0) std::memcpy(body->slots, document.body()->slots, slot_bytes(document.type()) * size);
    body->size = size;
    return as_ref(document.type(), body);
}

bool owned_by(const arena& memory, ref document) { return document.body()->owner == &memory; }

// The item whose members `keys` equal those of `wanted`; mostly there is one key, a text.
std::optional<std::size_t> index_like(ref list, std::initializer_list<std::string_view> keys, ref wanted) {
    if (keys.size() == 1) {
        if (const ref text = wanted.get(*keys.begin()); text.is_string()) {
            return list.index_by(*keys.begin(), text.text());
        }
    }
    const auto items = list.items();
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto equals = [&](std::string_view key) { return equal(items[i].get(key), wanted.get(key)); };
        if (items[i].is_object() && std::ranges::all_of(keys, equals)) return i;
    }
    return std::nullopt;
}

// What goes into `body`, if anything.
ref checked(ref stored, const detail::container* body) {
    if (stored.is_container() && stored.body() == body) misuse("storing a document in itself");
    return stored;
}

ref accept(arena& memory, const value& v, const detail::container* body) {
    const ref stored = v.store(memory);
    if (!stored) misuse("storing a document that does not exist");
    return checked(stored, body);
}

}  // namespace

value::value(editor document) : ref_(document.view()), form_(form::attach) {}

ref value::store(arena& memory) const {
    switch (form_) {
        case form::text: return ref::make_string(memory.copy(text_));
        case form::number: return ref::make_int(memory, number_);
        case form::document: seal(ref_); return ref_;
        case form::attach: break;
    }
    if (!ref_.is_container()) return ref_;
    if (ref_.body()->attached || !owned_by(memory, ref_)) seal(ref_);
    ref_.body()->attached = true;
    return ref_;
}

editor editor::object(arena& memory) { return {memory, kind::object, new_container(memory, kind::object, slack)}; }
editor editor::array(arena& memory) { return {memory, kind::array, new_container(memory, kind::array, slack)}; }

editor editor::of(arena& memory, ref document) {
    if (!document.is_container()) return {};
    if (!owned_by(memory, document)) document = copy_top(memory, document);
    return {memory, document.type(), document.body()};
}

ref editor::view() const { return body_ == nullptr ? ref{} : as_ref(kind_, body_); }

void editor::check(kind expected) const {
    if (body_ == nullptr) misuse("edit of a document that does not exist");
    if (kind_ != expected) misuse("edit of a document of another kind");
    if (body_->owner != memory_) misuse("edit of a frozen document");
}

void editor::grow(std::size_t slots) {
    if (slots <= body_->capacity) return;
    const auto capacity = static_cast<std::uint32_t>(std::max<std::size_t>(slots, body_->capacity * 2UL));
    void* const block = memory_->allocate(slot_bytes(kind_) * capacity);
    if (body_->size != 0) std::memcpy(block, body_->slots, slot_bytes(kind_) * body_->size);
    body_->slots = block;
    body_->capacity = capacity;
}

editor editor::open(ref& slot) const {
    if (!slot.is_container()) return {};
    if (!owned_by(*memory_, slot)) slot = copy_top(*memory_, slot);
    slot.body()->attached = true;
    return {*memory_, slot.type(), slot.body()};
}

ref* editor::find(std::string_view key) const {
    auto* const list = static_cast<member*>(body_->slots);
    for (std::uint32_t i = 0; i < body_->size; ++i) {
        if (list[i].key() == key) return &list[i].value;
    }
    return nullptr;
}

editor editor::child(std::string_view key) {
    if (body_ == nullptr || kind_ != kind::object) return {};
    check(kind::object);
    ref* const slot = find(key);
    return slot == nullptr ? editor{} : open(*slot);
}

editor editor::child(std::size_t index) {
    if (body_ == nullptr || kind_ != kind::array || index >= body_->size) return {};
    check(kind::array);
    return open(static_cast<ref*>(body_->slots)[index]);
}

editor editor::child(std::initializer_list<std::string_view> path) {
    editor at = *this;
    for (const std::string_view key : path) at = at.child(key);
    return at;
}

editor editor::ensure(word key, kind wanted) {
    check(kind::object);
    if (ref* const slot = find(key.text()); slot != nullptr && slot->type() == wanted) return open(*slot);
    editor made(*memory_, wanted, new_container(*memory_, wanted, slack));
    set(key, made);
    return made;
}

editor editor::ensure_object(word key) { return ensure(key, kind::object); }
editor editor::ensure_array(word key) { return ensure(key, kind::array); }

editor editor::ensure_object(std::initializer_list<word> path) {
    editor at = *this;
    for (const word key : path) at = at.ensure_object(key);
    return at;
}

// A member that is copied from a document which does not have it stays away.
editor& editor::set(word key, const value& v) {
    check(kind::object);
    const ref stored = checked(v.store(*memory_), body_);
    if (!stored) {
        remove(key.text());
        return *this;
    }
    if (ref* const slot = find(key.text()); slot != nullptr) {
        *slot = stored;
        return *this;
    }
    grow(body_->size + 1UL);
    new (static_cast<member*>(body_->slots) + body_->size) member{key.store(*memory_), stored};
    ++body_->size;
    return *this;
}

editor& editor::set_default(word key, const value& v) { return get(key.text()).is_unset() ? set(key, v) : *this; }

bool editor::remove(std::string_view key) {
    check(kind::object);
    ref* const slot = find(key);
    if (slot == nullptr) return false;
    auto* const list = static_cast<member*>(body_->slots);
    std::uint32_t at = 0;
    while (&list[at].value != slot) ++at;
    std::copy(list + at + 1, list + body_->size, list + at);
    --body_->size;
    return true;
}

editor& editor::append(const value& v) {
    insert(body_ == nullptr ? 0 : body_->size, v);
    return *this;
}

editor editor::append_object() {
    editor made = object(*memory_);
    append(made);
    return made;
}

void editor::insert(std::size_t index, const value& v) {
    check(kind::array);
    const ref stored = accept(*memory_, v, body_);
    if (index > body_->size) misuse("insert beyond the end of a list");
    grow(body_->size + 1UL);
    auto* const list = static_cast<ref*>(body_->slots);
    std::copy_backward(list + index, list + body_->size, list + body_->size + 1);
    list[index] = stored;
    ++body_->size;
}

void editor::replace(std::size_t index, const value& v) {
    check(kind::array);
    if (index >= body_->size) misuse("replace beyond the end of a list");
    const ref stored = accept(*memory_, v, body_);
    static_cast<ref*>(body_->slots)[index] = stored;
}

void editor::remove(std::size_t index) {
    check(kind::array);
    if (index >= body_->size) misuse("remove beyond the end of a list");
    auto* const list = static_cast<ref*>(body_->slots);
    std::copy(list + index + 1, list + body_->size, list + index);
    --body_->size;
}

void editor::clear() {
    check(kind_);
    body_->size = 0;
}

void editor::reserve(std::size_t slots) {
    check(kind_);
    grow(slots);
}

editor editor::entry(std::string_view key, std::string_view text) {
    const auto index = view().index_by(key, text);
    return index ? child(*index) : editor{};
}

editor editor::ensure_entry(word key, std::string_view text) {
    if (editor found = entry(key.text(), text)) return found;
    check(kind::array);
    editor made = append_object();
    made.set(key, text);
    return made;
}

void editor::upsert_by(std::initializer_list<std::string_view> keys, const value& item) {
    check(kind::array);
    const ref stored = accept(*memory_, item, body_);
    const auto index = index_like(view(), keys, stored);
    if (!index) {
        grow(body_->size + 1UL);
        static_cast<ref*>(body_->slots)[body_->size++] = stored;
    } else {
        static_cast<ref*>(body_->slots)[*index] = stored;
    }
}

bool editor::remove_by(std::string_view key, std::string_view text) {
    const auto index = view().index_by(key, text);
    if (!index) return false;
    remove(*index);
    return true;
}

}  // namespace cotrain::doc
