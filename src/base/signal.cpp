// Hand-over between notify() and the one waiting coroutine.
#include "base/signal.hpp"

#include <boost/asio/append.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <cassert>
#include <utility>

namespace cotrain::base {

// Parks the coroutine's continuation in the signal; a cancelled wait takes it out again.
struct signal::start {
    signal* self;

    void operator()(handler continuation) const {
        assert(!self->waiter_);
        auto slot = asio::get_associated_cancellation_slot(continuation);
        if (slot.is_connected()) {
            slot.assign([s = self](asio::cancellation_type) {
                if (s->waiter_) asio::post(s->executor_, asio::append(std::move(s->waiter_), false));
            });
        }
        self->waiter_ = std::move(continuation);
    }
};

signal::~signal() { assert(!waiter_); }

awaitable<bool> signal::wait() {
    if (std::exchange(pending_, false)) co_return true;
    executor_ = co_await asio::this_coro::executor;
    co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(bool)>(start{this},
                                                                                       asio::use_awaitable);
}

void signal::notify() {
    if (!waiter_) {
        pending_ = true;
        return;
    }
    auto slot = asio::get_associated_cancellation_slot(waiter_);
    if (slot.is_connected()) slot.clear();
    std::exchange(waiter_, handler{})(true);
}

void signal::notify_later() {
    if (!waiter_) {
        pending_ = true;
        return;
    }
    auto slot = asio::get_associated_cancellation_slot(waiter_);
    if (slot.is_connected()) slot.clear();
    asio::post(executor_, asio::append(std::exchange(waiter_, handler{}), true));
}

}  // namespace cotrain::base
