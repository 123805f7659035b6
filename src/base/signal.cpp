// Hand-over between notify() and the one waiting coroutine.
#include "base/signal.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace cotrain::base {

namespace {

constinit thread_local turn* opened = nullptr;

// As asio::post() would, for a continuation that wants nothing but to be called.
template <class Handler>
void resume_later(Handler continuation, bool notified) {
    const auto executor = asio::require(continuation.get_executor(), asio::execution::blocking.never);
    executor.execute([resumed = std::move(continuation), notified]() mutable { resumed(notified); });
}

// For one more. Before a waiter is taken: it must not be lost for want of memory.
template <class Handler>
bool has_room(std::vector<Handler>& of) noexcept {
    try {
        if (of.size() == of.capacity()) of.reserve(std::max<std::size_t>(8, 2 * of.size()));
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace

signal::~signal() { assert(!waiter_); }

signal::handler signal::take() {
    handler taken = *std::move(waiter_);
    waiter_.reset();
    return taken;
}

// A cancelled wait takes the continuation out again.
void signal::park(handler continuation) {
    assert(!waiter_);
    if (std::exchange(pending_, false)) return resume_later(std::move(continuation), true);
    auto slot = continuation.get_cancellation_slot();
    if (slot.is_connected()) {
        slot.assign([this](asio::cancellation_type) {
            if (waiter_) resume_later(take(), false);
        });
    }
    waiter_.emplace(std::move(continuation));
}

void signal::notify() {
    if (!waiter_) {
        pending_ = true;
        return;
    }
    take()(true);  // which clears the slot first
}

void signal::notify_later() {
    if (!waiter_) {
        pending_ = true;
        return;
    }
    auto slot = waiter_->get_cancellation_slot();
    if (slot.is_connected()) slot.clear();
    if (turn* const now = turn::open(); now != nullptr && has_room(now->woken_)) {
        now->woken_.push_back(take());
    } else {
        resume_later(take(), true);
    }
}

turn* turn::open() { return opened != nullptr && opened->woken_.size() < woken_max ? opened : nullptr; }

turn::turn() {
    if (opened == nullptr) opened = this;
}

turn::~turn() {
    if (opened != this) return;
    opened = nullptr;
    for (; resumed_ < woken_.size(); ++resumed_) resume_later(std::move(woken_[resumed_]), true);
}

void turn::end() {
    while (resumed_ < woken_.size()) {
        signal::handler next = std::move(woken_[resumed_++]);  // the list may grow and move meanwhile
        next(true);
    }
}

}  // namespace cotrain::base
