// Growth and jitter of backoff delays, and the system's seed.
#include "base/backoff.hpp"

#include <unistd.h>

#include <algorithm>
#include <random>

namespace cotrain::base {

std::chrono::milliseconds backoff::next(random_source& random) {
    const double whole = static_cast<double>(step_.count());
    const double delay = whole * (1.0 - policy_.jitter * random.unit());
    step_ = std::min(policy_.ceiling, std::chrono::milliseconds(static_cast<long long>(whole * policy_.factor)));
    ++attempts_;
    return std::chrono::milliseconds(static_cast<long long>(delay));
}

void backoff::reset() {
    step_ = policy_.first;
    attempts_ = 0;
}

random_source random_source::from_system() {
    // std::random_device looks at the processor first, and in a virtual machine each such look takes several µs.
    std::uint64_t seed = 0;
    if (::getentropy(&seed, sizeof seed) == 0) return random_source(seed);
    std::random_device device;
    return random_source((static_cast<std::uint64_t>(device()) << 32U) | device());
}

}  // namespace cotrain::base
