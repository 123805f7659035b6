// Wakes a waiting coroutine directly, without a trip through the scheduler, or at the end of the present turn.
#pragma once

#include <optional>
#include <vector>

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

    // To be awaited at once; gives true when notified, false when cancelled. What was remembered resumes from the event
    // loop. Not a coroutine: a wait costs no frame.
    [[nodiscard]] auto wait() {
        return asio::async_initiate<const asio::deferred_t, void(bool)>(start{this}, asio::deferred);
    }
    void notify();
    // Nobody waits, and what was remembered is done already.
    void forget() { pending_ = false; }
    // As notify(), but the waiter resumes from the event loop, or when the turn that is open ends.
    void notify_later();
    [[nodiscard]] bool waiting() const { return waiter_.has_value(); }

   private:
    friend class turn;
    // What Asio makes of a coroutine that awaits such an operation. The public any_completion_handler takes 17 ns a
    // wait instead of 7, and its executor cannot post (docs/decisions/0014-by-hand-on-purpose.md).
    using handler = asio::detail::awaitable_async_op_handler<void(bool), asio::any_io_executor>;
    struct start {
        signal* self;
        void operator()(handler continuation) const { self->park(std::move(continuation)); }
    };

    void park(handler continuation);
    [[nodiscard]] handler take();

    std::optional<handler> waiter_;
    bool pending_ = false;
};

// While one is open on a thread, waiters that are woken later resume at its end instead of from the event loop, which
// would poll every socket first. For a loop that has received something: open a turn, dispatch what was received, end
// the turn, and only then wait again. One that is opened inside another does nothing.
class turn {
   public:
    turn();
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    // What was not resumed, because end() was not called or threw, goes on from the event loop.
    ~turn();

    // Resumes on this stack, in the order of their waking, the waiters that were woken, and those that these wake.
    void end();

   private:
    friend class signal;
    static constexpr std::size_t woken_max = 256;  // further ones go on from the event loop

    [[nodiscard]] static turn* open();

    std::vector<signal::handler> woken_;
    std::size_t resumed_ = 0;
};

}  // namespace cotrain::base
