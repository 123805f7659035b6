// The order in which waiting requests get streams.
#include "net/h2/request_queue.hpp"

#include <algorithm>

namespace cotrain::net::h2 {

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

}  // namespace cotrain::net::h2
