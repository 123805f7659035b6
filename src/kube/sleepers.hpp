// Coroutines that wait for a moment and can all be woken before it: backoff, throttling, a shared result.
#pragma once

#include <chrono>
#include <list>

#include "base/asio.hpp"

namespace cotrain::kube {

// Single-threaded. Must outlive everyone who waits in it.
class sleepers {
   public:
    enum class outcome { slept, woken, cancelled };

    sleepers() = default;
    ~sleepers();
    sleepers(const sleepers&) = delete;
    sleepers& operator=(const sleepers&) = delete;

    [[nodiscard]] awaitable<outcome> until(std::chrono::steady_clock::time_point when);
    // They resume from the event loop, not on this stack.
    void wake_all();
    [[nodiscard]] std::size_t size() const { return waiting_.size(); }

   private:
    struct entry {
        asio::steady_timer* timer;
        bool woken = false;
    };
    struct membership;
    std::list<entry> waiting_;
};

}  // namespace cotrain::kube
