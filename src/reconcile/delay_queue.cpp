// A binary heap that knows where each slot stands, so that moments can be changed in place.
#include "reconcile/delay_queue.hpp"

#include <algorithm>
#include <cassert>

namespace cotrain::reconcile {

void delay_queue::put(std::size_t at, const entry& e) {
    heap_[at] = e;
    place_[e.s] = static_cast<slot>(at);
}

void delay_queue::rise(std::size_t at) {
    const entry e = heap_[at];
    while (at > 0) {
        const std::size_t above = (at - 1) / 2;
        if (!e.before(heap_[above])) break;
        put(at, heap_[above]);
        at = above;
    }
    put(at, e);
}

void delay_queue::sink(std::size_t at) {
    const entry e = heap_[at];
    for (;;) {
        std::size_t below = 2 * at + 1;
        if (below >= heap_.size()) break;
        if (below + 1 < heap_.size() && heap_[below + 1].before(heap_[below])) ++below;
        if (!heap_[below].before(e)) break;
        put(at, heap_[below]);
        at = below;
    }
    put(at, e);
}

void delay_queue::remove(std::size_t at) {
    place_[heap_[at].s] = no_slot;
    const entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    put(at, last);
    rise(at);
    sink(place_[last.s]);
}

void delay_queue::make_room(std::uint32_t slots) {
    if (slots <= place_.size()) return;
    if (slots > heap_.capacity()) heap_.reserve(std::max<std::size_t>(slots, 2 * heap_.capacity()));
    place_.resize(slots, no_slot);
}

bool delay_queue::add(slot s, moment due) {
    make_room(s + 1);
    if (place_[s] != no_slot) {
        entry& known = heap_[place_[s]];
        if (known.due <= due) return false;
        known.due = due;
        rise(place_[s]);
        return true;
    }
    heap_.push_back({due, order_++, s});
    place_[s] = static_cast<slot>(heap_.size() - 1);
    rise(heap_.size() - 1);
    return true;
}

void delay_queue::cancel(slot s) {
    if (contains(s)) remove(place_[s]);
}

std::optional<slot> delay_queue::take_due(moment now) {
    if (heap_.empty() || heap_.front().due > now) return std::nullopt;
    const slot s = heap_.front().s;
    remove(0);
    return s;
}

std::optional<moment> delay_queue::next_due() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.front().due;
}

void delay_queue::trim() {
    assert(heap_.empty());
    heap_ = {};
    place_ = {};
}

}  // namespace cotrain::reconcile
