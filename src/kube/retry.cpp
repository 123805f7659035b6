// The retry table.
#include "kube/retry.hpp"

#include <algorithm>

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
