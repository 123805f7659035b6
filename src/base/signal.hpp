// Wakes a waiting coroutine directly, without a trip through the scheduler.
#pragma once

#include <boost/asio/any_completion_handler.hpp>

#include "base/asio.hpp"

namespace cotrain::base {

// One coroutine waits at a time. A notify() without a waiter is remembered once, so no wake-up is lost between a
// check and a wait. notify() resumes the waiter on the caller's stack: call it last, or where re-entry is harmless.
class signal {
   public:
    signal() = default;
    signal(const signal&) = delete;
    signal& operator=(const signal&) = delete;
    ~signal();

    // Returns true when notified, false when cancelled.
    [[nodiscard]] awaitable<bool> wait();
    void notify();
    // As notify(), but the waiter resumes from the event loop.
    void notify_later();
    [[nodiscard]] bool waiting() const { return static_cast<bool>(waiter_); }

   private:
    using handler = asio::any_completion_handler<void(bool)>;
    struct start;

    handler waiter_;
    asio::any_io_executor executor_;
    bool pending_ = false;
};

}  // namespace cotrain::base
