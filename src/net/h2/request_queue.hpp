// Requests that wait for a stream: highest rank first, oldest first within a rank, and who may take the last streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "net/http.hpp"

namespace cotrain::net::h2 {

// How many streams may be in use, and how many of them are kept for urgent requests.
struct stream_budget {
    std::uint32_t streams = 0;
    std::uint32_t urgent_reserve = 0;

    // Streams that may be in use before a request of this rank starts. Reads and writes leave the urgent reserve
    // (at most half of a small budget, so that they never starve), watches leave one stream for the lease.
    [[nodiscard]] std::uint32_t usable_by(priority rank) const;
};

// A request's place in the queue; the queue links what its owner stores.
struct queue_place {
    queue_place* before = nullptr;
    queue_place* after = nullptr;
    priority rank = priority::read;
};

class request_queue {
   public:
    void push(queue_place& place);
    void remove(queue_place& place);
    // The next request that may start while `open` streams are in use, or null. It stays in the queue.
    [[nodiscard]] queue_place* next(std::size_t open, stream_budget budget) const;
    // The next request whatever the budget, or null.
    [[nodiscard]] queue_place* first() const;
    [[nodiscard]] std::size_t size() const { return size_; }
    // How many would go before a new request of this rank.
    [[nodiscard]] std::size_t ahead_of(priority rank) const;

   private:
    struct list {
        queue_place* head = nullptr;
        queue_place* tail = nullptr;
        std::size_t size = 0;
    };
    [[nodiscard]] list& of(const queue_place& place) { return ranks_[static_cast<std::size_t>(place.rank)]; }

    std::array<list, 4> ranks_;
    std::size_t size_ = 0;
};

}  // namespace cotrain::net::h2
