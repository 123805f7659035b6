// Arithmetic of the bucket and the waits it asks for.
#include "kube/limiter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cotrain::kube {

std::optional<token_bucket::clock::duration> token_bucket::take(clock::time_point now, clock::duration wait_max) {
    if (unlimited()) return clock::duration::zero();
    using seconds = std::chrono::duration<double>;
    const double full = std::max(limit_.burst, 1.0);
    if (filled_at_ && now > *filled_at_)
        tokens_ = std::min(full, tokens_ + seconds(now - *filled_at_).count() * limit_.qps);
    filled_at_ = filled_at_ ? std::max(*filled_at_, now) : now;
    const double missing = 1 - tokens_;
    if (missing <= 0) {
        tokens_ -= 1;
        return clock::duration::zero();
    }
    const seconds wait(missing / limit_.qps);
    if (wait > seconds(wait_max)) return std::nullopt;
    tokens_ -= 1;
    return std::chrono::ceil<clock::duration>(wait);
}

awaitable<base::result<>> limiter::admit(net::priority rank, std::chrono::steady_clock::time_point due) {
    if (open(rank)) co_return base::result<>{};
    const auto now = std::chrono::steady_clock::now();
    const auto wait = bucket_.take(now, due - now);
    if (!wait)
        co_return base::fail(base::errc::deadline,
                             "the client's own rate limit (qps) would hold this request beyond its deadline");
    if (*wait == wait->zero()) co_return base::result<>{};
    const auto outcome = co_await waiting_.until(now + *wait);
    ++stats_.waits;
    stats_.waited += std::chrono::steady_clock::now() - now;
    if (outcome == sleepers::outcome::slept) co_return base::result<>{};
    bucket_.give_back();
    co_return base::fail(base::errc::canceled, "given up while waiting for the rate limit");
}

}  // namespace cotrain::kube
