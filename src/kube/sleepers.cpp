// One timer a sleeper; waking is cancelling it.
#include "kube/sleepers.hpp"

#include <cassert>

namespace cotrain::kube {

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

}  // namespace cotrain::kube
