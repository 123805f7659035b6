// Leave to begin a write to the cluster.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace cotrain::reconcile {

struct write_permit {
    using moment = std::chrono::steady_clock::time_point;

    // NOLINTNEXTLINE(google-explicit-constructor)
    write_permit(std::chrono::milliseconds t, moment l = moment::max()) : time(t), latest(l) {}

    std::chrono::milliseconds time;  // all that it may take
    // The Lease may be another's then. The time says the same where the process runs; one that is stopped between the
    // permit and the write goes on later as if nothing had been. A machine whose monotonic clock stands still with it
    // cannot be told.
    moment latest;
};

// Asked right before each write; nothing: none may start, since another replica may lead.
using write_allowance = std::function<std::optional<write_permit>()>;

}  // namespace cotrain::reconcile
