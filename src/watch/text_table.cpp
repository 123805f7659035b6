#include "watch/text_table.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

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
    return reinterpret_cast<head*>(pages_[id >> page_bits].bytes.get() + (id & (page_units - 1)) * unit);
}

std::string_view text_table::view(text_id id) const {
    if (id == no_text) return {};
    const head* const h = at(id);
    return {reinterpret_cast<const char*>(h + 1), h->bytes};
}

// The place of the text in slots_, or the empty one where it would go.
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

text_id text_table::allocate(std::uint32_t units) {
    if (with_room_.empty()) with_room_.resize(sizes, no_page);
    const std::uint32_t number = with_room_[units] != no_page ? with_room_[units] : new_page(units);
    page& p = pages_[number];
    text_id id = p.free;
    if (id != no_text) {
        p.free = at(id)->uses;
    } else {
        id = (number << page_bits) + p.cut;
        p.cut += units;
    }
    ++p.used;
    if (!p.has_room()) unlink(number);
    return id;
}

void text_table::give_back(text_id id) {
    const std::uint32_t number = id >> page_bits;
    page& p = pages_[number];
    if (!p.has_room()) link(number);
    at(id)->uses = p.free;
    p.free = id;
    if (--p.used != 0 || (p.before == no_page && p.after == no_page)) return;
    unlink(number);
    p = {};
    empty_.push_back(number);
}

std::uint32_t text_table::new_page(std::uint32_t units) {
    auto bytes = std::make_unique_for_overwrite<char[]>(page_bytes);
    auto number = static_cast<std::uint32_t>(pages_.size());
    if (empty_.empty()) {
        if (pages_.size() == pages_.capacity()) pages_.reserve(std::max<std::size_t>(1, 2 * pages_.size()));
        empty_.reserve(pages_.capacity());  // so that give_back() cannot fail
        pages_.emplace_back();
    } else {
        number = empty_.back();
        empty_.pop_back();
    }
    page& p = pages_[number];
    p.bytes = std::move(bytes);
    p.units = units;
    p.cut = number == 0 ? 1 : 0;  // the very first unit is no_text's
    link(number);
    return number;
}

void text_table::link(std::uint32_t number) {
    page& p = pages_[number];
    p.before = no_page;
    p.after = std::exchange(with_room_[p.units], number);
    if (p.after != no_page) pages_[p.after].before = number;
}

void text_table::unlink(std::uint32_t number) {
    const page& p = pages_[number];
    if (p.after != no_page) pages_[p.after].before = p.before;
    (p.before != no_page ? pages_[p.before].after : with_room_[p.units]) = p.after;
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
    const text_id id = allocate(static_cast<std::uint32_t>((sizeof(head) + text.size() + unit - 1) / unit));
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
    give_back(id);
}

void text_table::grow() {
    std::vector<text_id> old(slots_.empty() ? 64 : slots_.size() * 2, no_text);
    old.swap(slots_);
    for (const text_id id : old)
        if (id != no_text) slots_[place_of(view(id), hash_bytes(view(id)))] = id;
}

std::size_t text_table::memory_bytes() const {
    return (pages_.size() - empty_.size()) * page_bytes + pages_.capacity() * sizeof(page) +
           (slots_.capacity() + empty_.capacity() + with_room_.capacity()) * sizeof(text_id);
}

// --- uids ----------------------------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t is_text = ~std::uint64_t{0};

constexpr std::size_t uuid_bytes = 36;

bool dash_at(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

// Only the form that to_text() gives back: lower case.
std::optional<uid> parse(std::string_view text) {
    if (text.size() != uuid_bytes) return std::nullopt;
    std::uint64_t words[2] = {0, 0};
    for (std::size_t i = 0, digits = 0; i < uuid_bytes; ++i) {
        const char c = text[i];
        if (dash_at(i) != (c == '-')) return std::nullopt;
        if (c == '-') continue;
        const bool letter = c >= 'a' && c <= 'f';
        if (!letter && (c < '0' || c > '9')) return std::nullopt;
        std::uint64_t& word = words[digits++ / 16];
        word = word << 4U | static_cast<std::uint64_t>(letter ? c - 'a' + 10 : c - '0');
    }
    const uid out{words[0], words[1]};
    if (out.low == is_text || out.empty()) return std::nullopt;
    return out;
}

}  // namespace

uid make_uid(text_table& texts, std::string_view text) {
    if (text.empty()) return {};
    if (const auto u = parse(text)) return *u;
    return {texts.intern(text.substr(0, uid_bytes_max)), is_text};
}

uid find_uid(const text_table& texts, std::string_view text) {
    if (const auto u = parse(text)) return *u;
    const text_id id = texts.find(text.substr(0, uid_bytes_max));
    return id == no_text ? uid{} : uid{id, is_text};
}

void release_uid(text_table& texts, uid u) {
    if (u.low == is_text) texts.release(static_cast<text_id>(u.high));
}

std::string to_text(const text_table& texts, uid u) {
    if (u.empty()) return {};
    if (u.low == is_text) return std::string(texts.view(static_cast<text_id>(u.high)));
    char text[uuid_bytes];
    std::size_t at = 0;
    for (const std::uint64_t word : {u.high, u.low}) {
        for (unsigned shift = 64; shift != 0; shift -= 4) {
            if (dash_at(at)) text[at++] = '-';
            text[at++] = "0123456789abcdef"[word >> (shift - 4) & 0xFU];
        }
    }
    return {text, sizeof text};
}

}  // namespace cotrain::watch
