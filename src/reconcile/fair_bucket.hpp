// A token bucket that groups share: those that have to wait get equal parts of it. Pure; time is passed in.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "reconcile/delay_queue.hpp"

namespace cotrain::reconcile {

// Tokens come to one waiting group after the other, in constant memory: many requests of one namespace do not hold up
// those of others, and all together keep to the rate.
class fair_bucket {
   public:
    // When a token comes. It may be sooner than was said before, if others went; or later, if others came.
    using turn = std::uint64_t;
    using nanoseconds = std::chrono::nanoseconds;

    fair_bucket(double per_second, double burst) : rate_(per_second), burst_(burst), tokens_(burst) {}

    // Takes a token; none if it does not come within `longest`.
    [[nodiscard]] std::optional<turn> take(std::size_t group, moment now, nanoseconds longest = nanoseconds::max());
    // How long until it comes; 0: it is there.
    [[nodiscard]] nanoseconds wait(turn mine, moment now);

   private:
    static constexpr std::size_t places = 256;  // few groups have one in common

    // Turns go round: those of place p leave the remainder p. All up to served_ are over.
    [[nodiscard]] turn first_of(std::size_t place) const { return served_ + 1 + (place - served_ - 1) % places; }
    // Tokens that are owed up to that turn.
    [[nodiscard]] double owed_until(turn last) const;
    [[nodiscard]] std::optional<turn> next() const;
    void refill(moment now);

    double rate_;
    double burst_;
    double tokens_;
    turn served_ = places;
    std::array<turn, places> last_{};  // that was taken at each place
    std::optional<moment> filled_at_{};
};

}  // namespace cotrain::reconcile
