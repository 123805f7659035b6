// A moment after which waits are cancelled, for operations that have no deadline of their own.
#pragma once

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "base/asio.hpp"

namespace cotrain::kube {

// One guarded operation at a time. Cancelling the caller cancels the operation too.
class time_limit {
   public:
    time_limit(const asio::any_io_executor& executor, std::chrono::steady_clock::time_point when);
    ~time_limit();
    time_limit(const time_limit&) = delete;
    time_limit& operator=(const time_limit&) = delete;

    [[nodiscard]] bool passed() const { return shared_->passed; }

    // The operation's own outcome; when the moment passes, what it says to being cancelled.
    template <class T>
    [[nodiscard]] awaitable<T> guard(awaitable<T> operation) {
        const auto kept = shared_;  // the signal outlives the operation whatever becomes of this object
        const auto executor = co_await asio::this_coro::executor;
        const auto outer = co_await asio::this_coro::cancellation_state;
        auto slot = outer.slot();
        if (slot.is_connected()) slot.assign([raw = kept.get()](asio::cancellation_type how) { raw->stop.emit(how); });
        auto [failure, value] =
            co_await asio::co_spawn(executor, std::move(operation),
                                    asio::bind_cancellation_slot(kept->stop.slot(), asio::as_tuple(asio::deferred)));
        if (slot.is_connected()) slot.clear();
        kept->stop.slot().clear();
        if (failure) std::rethrow_exception(failure);
        co_return std::move(value);
    }

   private:
    struct state {
        explicit state(const asio::any_io_executor& executor) : timer(executor) {}
        asio::steady_timer timer;
        asio::cancellation_signal stop;
        bool passed = false;
    };
    std::shared_ptr<state> shared_;
};

}  // namespace cotrain::kube
