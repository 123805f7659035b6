// Taking, finding and recycling of stream records.
#include "net/h2/slot.hpp"

#include <utility>

namespace cotrain::net::h2 {

namespace {

constexpr std::uint64_t place_of(stream_key key, unsigned bits) {
    return static_cast<std::uint64_t>(key) & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

slot& slot_table::take() {
    std::uint64_t place = slots_.size();
    if (free_.empty()) {
        slots_.emplace_back();
    } else {
        place = free_.back();
        free_.pop_back();
    }
    slot& s = slots_[place];
    s.key = stream_key{++taken_ << place_bits | place};
    return s;
}

slot* slot_table::find(stream_key key) {
    const std::uint64_t place = place_of(key, place_bits);
    if (place >= slots_.size()) return nullptr;
    slot& s = slots_[place];
    return s.key == key && s.state != slot::phase::free ? &s : nullptr;
}

void slot_table::release(slot& s) {
    const auto place = static_cast<std::uint32_t>(place_of(s.key, place_bits));
    std::unique_ptr<outbox> out = std::move(s.out);
    s = slot{};
    if (out != nullptr) {
        out->reset();
        s.out = std::move(out);
    }
    free_.push_back(place);
}

void slot_table::shrink() {
    if (in_use() != 0 || slots_.size() <= places_kept) return;
    slots_.clear();
    slots_.shrink_to_fit();
    free_.clear();
    free_.shrink_to_fit();
}

}  // namespace cotrain::net::h2
