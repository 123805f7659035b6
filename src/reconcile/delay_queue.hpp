// Keys that come back later: the earliest moment per key counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "reconcile/key.hpp"

namespace cotrain::reconcile {

// Time is passed in: the queue only compares it.
using moment = std::chrono::steady_clock::time_point;

class delay_queue {
   public:
    // For all slots below that number: nothing else allocates, and each makes its own if it has to.
    void make_room(std::uint32_t slots);
    // A key that waits already keeps the earlier of both moments. Returns whether anything changed.
    bool add(slot s, moment due);
    void cancel(slot s);
    [[nodiscard]] bool contains(slot s) const { return s < place_.size() && place_[s] != no_slot; }
    // The earliest key that is due.
    [[nodiscard]] std::optional<slot> take_due(moment now);
    [[nodiscard]] std::optional<moment> next_due() const;
    [[nodiscard]] std::size_t size() const { return heap_.size(); }
    // Gives memory back; only while empty.
    void trim();

   private:
    struct entry {
        moment due;
        std::uint64_t order;  // equal moments leave in the order they came
        slot s;

        [[nodiscard]] bool before(const entry& other) const {
            return due != other.due ? due < other.due : order < other.order;
        }
    };
    void put(std::size_t at, const entry& e);
    void rise(std::size_t at);
    void sink(std::size_t at);
    void remove(std::size_t at);

    std::vector<entry> heap_;
    std::vector<slot> place_;  // of each slot in the heap
    std::uint64_t order_ = 0;
};

}  // namespace cotrain::reconcile
