// Exponential backoff with jitter as a plain value: the caller owns time and chance.
#pragma once

#include <chrono>

#include "base/random.hpp"

namespace cotrain::base {

struct backoff_policy {
    std::chrono::milliseconds first{100};
    std::chrono::milliseconds ceiling{30'000};
    double factor = 2.0;
    double jitter = 0.5;  // the share of a delay that is random: 0.5 gives [d/2, d]
};

class backoff {
   public:
    explicit backoff(backoff_policy policy = {}) : policy_(policy), step_(policy.first) {}

    // The next delay, jittered; grows up to the ceiling.
    [[nodiscard]] std::chrono::milliseconds next(random_source& random);
    void reset();
    [[nodiscard]] unsigned attempts() const { return attempts_; }

   private:
    backoff_policy policy_;
    std::chrono::milliseconds step_;
    unsigned attempts_ = 0;
};

}  // namespace cotrain::base
