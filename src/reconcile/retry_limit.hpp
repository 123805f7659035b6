// How long a failed key waits: its own exponential backoff, and one bucket over all of them, shared fairly.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "reconcile/delay_queue.hpp"
#include "reconcile/fair_bucket.hpp"
#include "reconcile/key.hpp"

namespace cotrain::reconcile {

struct retry_policy {
    std::chrono::nanoseconds first = std::chrono::milliseconds(5);
    std::chrono::nanoseconds ceiling = std::chrono::seconds(1000);
    // Of failures that are not the key's own: the API server, the way to it, or rights. Whatever it is may be over
    // soon.
    std::chrono::nanoseconds passing_ceiling = std::chrono::seconds(4);
    double qps = 10;     // retries of all keys together; zero or less: unlimited
    double burst = 100;  // at once
};

// Whether an error says nothing about the object that was written.
[[nodiscard]] bool is_passing(const base::error& e);

class retry_limit {
   public:
    explicit retry_limit(retry_policy policy = {});

    // For all slots below that number.
    void make_room(std::uint32_t slots) {
        if (slots > failures_.size()) failures_.resize(slots);
    }
    // The delay after one more failure: the longer of the key's own and the bucket's, from which a token is taken.
    [[nodiscard]] std::chrono::nanoseconds failed(slot s, std::size_t group, moment now, bool passing = false);
    // The key succeeded: its next failure starts from the beginning.
    void forget(slot s);
    [[nodiscard]] unsigned failures(slot s) const { return s < failures_.size() ? failures_[s] : 0; }
    void trim() { failures_ = {}; }

   private:
    [[nodiscard]] std::chrono::nanoseconds own_delay(unsigned failures, bool passing) const;

    retry_policy policy_;
    std::vector<std::uint8_t> failures_;
    fair_bucket bucket_;
};

}  // namespace cotrain::reconcile
