// How soon to look again at what somebody else may want otherwise: a pure decision with time and chance passed in.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/backoff.hpp"
#include "base/random.hpp"

namespace cotrain::serve {

struct repair_policy {
    std::chrono::milliseconds pause{1'000};  // between two looks, whoever keeps changing things; half of it is chance
    unsigned at_once = 5;                    // repairs before they slow down
    base::backoff_policy contested{std::chrono::milliseconds(2'000), std::chrono::milliseconds(60'000), 2.0, 0.5};
    base::backoff_policy failed{std::chrono::milliseconds(500), std::chrono::milliseconds(4'000), 2.0, 0.5};
    std::chrono::milliseconds calm{600'000};  // so long without a repair, and the next ones are first repairs again
};

// Two who want the same object differently undo each other's work for ever, each as fast as it hears of the other's.
class repair_pace {
   public:
    using moment = std::chrono::steady_clock::time_point;

    // What came of a look. A write that lost a race counts as a repair: somebody else writes there.
    enum class found : std::uint8_t { good, repaired, failed };

    explicit repair_pace(repair_policy policy)
        : policy_(policy), contested_pause_(policy.contested), failed_pause_(policy.failed) {}

    // How long not to look again, whatever is heard meanwhile.
    [[nodiscard]] std::chrono::milliseconds after(found what, moment now, base::random_source& random);
    // Others undo what we repair.
    [[nodiscard]] bool contested() const { return repairs_ > policy_.at_once; }

   private:
    repair_policy policy_;
    base::backoff contested_pause_;
    base::backoff failed_pause_;
    unsigned repairs_ = 0;  // without a time of calm between them; stops counting when they are contested
    moment last_repair_{};
};

}  // namespace cotrain::serve
