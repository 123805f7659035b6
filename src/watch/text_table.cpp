// Blocks of equal size cut from pages, and an open-addressing index over them.
#include "watch/text_table.hpp"

#include <cassert>
#include <cstring>
#include <new>

namespace cotrain::watch {

namespace {

__extension__ using wide = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const wide product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint16_t tag_of(std::uint64_t hash) { return static_cast<std::uint16_t>(hash >> 48U); }

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) {
    constexpr std::uint64_t k0 = 0x9e3779b97f4a7c15ULL;
    constexpr std::uint64_t k1 = 0xe7037ed1a0b428dbULL;
    std::uint64_t hash = seed ^ mix(bytes.size() ^ k1, k0);
    const char* p = bytes.data();
    std::size_t left = bytes.size();
    std::uint64_t words[2];
    for (; left >= 16; p += 16, left -= 16) {
        std::memcpy(words, p, 16);
        hash = mix(words[0] ^ hash ^ k0, words[1] ^ k1);
    }
    words[0] = words[1] = 0;
    if (left != 0) std::memcpy(words, p, left);
    return mix(mix(words[0] ^ hash ^ k0, words[1] ^ k1), k0);
}

text_table::head* text_table::at(text_id id) const {
    return reinterpret_cast<head*>(pages_[id >> page_bits].get() + (id & ((1U << page_bits) - 1)) * unit);
}

std::string_view text_table::view(text_id id) const {
    if (id == no_text) return {};
    const head* const h = at(id);
    return {reinterpret_cast<const char*>(h + 1), h->bytes};
}

// The place of the text in slots_, or the empty one where it would stand.
std::size_t text_table::place_of(std::string_view text, std::uint64_t hash) const {
    std::size_t place = home(hash);
    for (; slots_[place] != no_text; place = (place + 1) & (slots_.size() - 1))
        if (at(slots_[place])->tag == tag_of(hash) && view(slots_[place]) == text) break;
    return place;
}

text_id text_table::find(std::string_view text) const {
    text = text.substr(0, text_bytes_max);
    if (text.empty() || slots_.empty()) return no_text;
    return slots_[place_of(text, hash_bytes(text))];
}

text_id text_table::allocate(std::size_t units) {
    if (classes_.empty()) classes_.resize(classes);
    size_class& c = classes_[units];
    if (c.free != no_text) {
        const text_id id = c.free;
        c.free = at(id)->uses;
        return id;
    }
    if (c.left < units) {
        const auto page = static_cast<text_id>(pages_.size());
        pages_.push_back(std::make_unique_for_overwrite<char[]>(page_bytes));
        c.next = page << page_bits;
        c.left = 1U << page_bits;
        if (page == 0) {  // the very first unit is no_text's
            ++c.next;
            --c.left;
        }
    }
    const text_id id = c.next;
    c.next += static_cast<text_id>(units);
    c.left -= static_cast<std::uint32_t>(units);
    return id;
}

text_id text_table::intern(std::string_view text) {
    text = text.substr(0, text_bytes_max);
    if (text.empty()) return no_text;
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    const std::uint64_t hash = hash_bytes(text);
    const std::size_t place = place_of(text, hash);
    if (slots_[place] != no_text) {
        ++at(slots_[place])->uses;
        return slots_[place];
    }
    const text_id id = allocate((sizeof(head) + text.size() + unit - 1) / unit);
    head* const h = ::new (at(id)) head{1, static_cast<std::uint16_t>(text.size()), tag_of(hash)};
    std::memcpy(h + 1, text.data(), text.size());
    slots_[place] = id;
    ++size_;
    return id;
}

void text_table::retain(text_id id) {
    if (id != no_text) ++at(id)->uses;
}

void text_table::release(text_id id) {
    if (id == no_text) return;
    head* const h = at(id);
    assert(h->uses > 0);
    if (--h->uses > 0) return;
    const std::string_view text = view(id);
    // Those behind it move up, so that searches still find them.
    std::size_t hole = place_of(text, hash_bytes(text));
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = (hole + 1) & mask; slots_[i] != no_text; i = (i + 1) & mask) {
        const std::size_t wanted = home(hash_bytes(view(slots_[i])));
        if (((i - wanted) & mask) < ((i - hole) & mask)) continue;
        slots_[hole] = slots_[i];
        hole = i;
    }
    slots_[hole] = no_text;
    --size_;
    size_class& c = classes_[(sizeof(head) + h->bytes + unit - 1) / unit];
    h->uses = c.free;
    c.free = id;
}

void text_table::grow() {
    std::vector<text_id> old = std::move(slots_);
    slots_.assign(old.empty() ? 64 : old.size() * 2, no_text);
    for (const text_id id : old)
        if (id != no_text) slots_[place_of(view(id), hash_bytes(view(id)))] = id;
}

std::size_t text_table::memory_bytes() const {
    return pages_.size() * page_bytes + slots_.capacity() * sizeof(text_id) + classes_.capacity() * sizeof(size_class);
}

}  // namespace cotrain::watch
