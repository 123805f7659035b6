// Counting repairs, and the pauses that grow with them.
#include "serve/repair_pace.hpp"

namespace cotrain::serve {

std::chrono::milliseconds repair_pace::after(found what, moment now, base::random_source& random) {
    if (what == found::failed) return failed_pause_.next(random);
    failed_pause_.reset();
    if (repairs_ != 0 && now - last_repair_ >= policy_.calm) {
        repairs_ = 0;
        contested_pause_.reset();
    }
    if (what == found::repaired) {
        if (!contested()) ++repairs_;
        last_repair_ = now;
        if (contested()) return contested_pause_.next(random);
    }
    const auto half = policy_.pause / 2;
    return half + std::chrono::milliseconds(
                      static_cast<std::int64_t>(static_cast<double>((policy_.pause - half).count()) * random.unit()));
}

}  // namespace cotrain::serve
