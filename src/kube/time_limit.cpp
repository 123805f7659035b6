// The timer behind a time limit.
#include "kube/time_limit.hpp"

namespace cotrain::kube {

time_limit::time_limit(const asio::any_io_executor& executor, std::chrono::steady_clock::time_point when)
    : shared_(std::make_shared<state>(executor)) {
    shared_->timer.expires_at(when);
    shared_->timer.async_wait([weak = std::weak_ptr<state>(shared_)](boost::system::error_code failure) {
        const auto held = weak.lock();
        if (failure || !held) return;
        held->passed = true;
        held->stop.emit(asio::cancellation_type::all);
    });
}

time_limit::~time_limit() { shared_->timer.cancel(); }

}  // namespace cotrain::kube
