#include "kube/pacing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace cotrain::kube {

namespace {

using std::chrono::milliseconds;

// A 503 comes from a server that starts or stops: how long that takes is a guess, of 5 s mostly. Who is throttled (429)
// gets what the server wishes.
constexpr milliseconds starting_wait_max{2'000};

// Doubles from wait_first up to wait_max; the second half of each wait is chance.
milliseconds spread(const retry_policy& policy, unsigned repeats, double chance) {
    milliseconds step = policy.wait_first;
    for (unsigned i = 1; i < repeats && step < policy.wait_max; ++i) step *= 2;
    step = std::min(step, policy.wait_max);
    return step / 2 + milliseconds(static_cast<long long>(static_cast<double>((step / 2).count()) * chance));
}

}  // namespace

sleepers::~sleepers() { assert(waiting_.empty()); }

// Takes the entry out again however the coroutine ends.
struct sleepers::membership {
    std::list<entry>& all;
    std::list<entry>::iterator place;
    ~membership() { all.erase(place); }
};

awaitable<sleepers::outcome> sleepers::until(std::chrono::steady_clock::time_point when) {
    asio::steady_timer timer(co_await asio::this_coro::executor, when);
    const membership mine{waiting_, waiting_.insert(waiting_.end(), entry{&timer})};
    const auto [failure] = co_await timer.async_wait(use_tuple);
    if (mine.place->woken) co_return outcome::woken;
    co_return failure ? outcome::cancelled : outcome::slept;
}

void sleepers::wake_all() {
    for (entry& one : waiting_) {
        one.woken = true;
        one.timer->cancel();
    }
}

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

next_step after_failure(const retry_policy& policy, retry_state& state, const base::error& failure, bool idempotent,
                        milliseconds left, double chance) {
    const bool unknown_to_peer = failure.code == base::errc::status && failure.http_status == 401;
    if (unknown_to_peer || failure.code == base::errc::tls) {
        if (state.renewed) return {};
        state.renewed = true;
        return {verdict::renew};
    }
    // The deadline is the request's own: there is nothing left.
    if (failure.code == base::errc::deadline || failure.code == base::errc::canceled) return {};
    const bool unprocessed = failure.again == base::retry::later;
    if (!unprocessed && !(failure.again == base::retry::idempotent && idempotent)) return {};
    const bool throttled = unprocessed && failure.code == base::errc::status;
    unsigned& repeats = throttled ? state.throttled : state.failing;
    if (repeats >= (throttled ? policy.throttled_max : policy.failing_max)) return {};
    ++repeats;
    milliseconds wait = spread(policy, repeats, chance);
    const milliseconds wish_max = failure.http_status == 503 ? starting_wait_max : policy.retry_after_max;
    if (failure.retry_after) wait += std::clamp(*failure.retry_after, milliseconds(0), wish_max);
    if (wait >= left) return {};
    return {verdict::wait, wait};
}

}  // namespace cotrain::kube
