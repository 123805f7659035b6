#include "net/h2/slot.hpp"

#include <algorithm>
#include <utility>

namespace cotrain::net::h2 {

namespace {

constexpr std::uint64_t place_of(stream_key key, unsigned bits) {
    return static_cast<std::uint64_t>(key) & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

std::uint32_t stream_budget::usable_by(priority rank) const {
    switch (rank) {
        case priority::lease: return streams;
        case priority::watch: return streams > 1 ? streams - 1 : streams;
        case priority::read:
        case priority::write: break;
    }
    return streams - std::min(urgent_reserve, streams / 2);
}

void request_queue::push(queue_place& place) {
    list& line = of(place);
    place.before = line.tail;
    place.after = nullptr;
    (line.tail != nullptr ? line.tail->after : line.head) = &place;
    line.tail = &place;
    ++line.size;
    ++size_;
}

void request_queue::remove(queue_place& place) {
    list& line = of(place);
    (place.before != nullptr ? place.before->after : line.head) = place.after;
    (place.after != nullptr ? place.after->before : line.tail) = place.before;
    place.before = place.after = nullptr;
    --line.size;
    --size_;
}

std::size_t request_queue::ahead_of(priority rank) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(rank); ++i) count += ranks_[i].size;
    return count;
}

queue_place* request_queue::first() const {
    if (size_ == 0) return nullptr;
    for (const list& line : ranks_)
        if (line.head != nullptr) return line.head;
    return nullptr;
}

queue_place* request_queue::next(std::size_t open, stream_budget budget) const {
    // A lower rank never may use more streams than a higher one: if the first may not start, none may.
    queue_place* place = first();
    return place != nullptr && open < budget.usable_by(place->rank) ? place : nullptr;
}

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
