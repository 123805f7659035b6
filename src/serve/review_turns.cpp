// Two queues, and what is granted in each turn.
#include "serve/review_turns.hpp"

#include <boost/asio/post.hpp>

namespace cotrain::serve {

// Nobody of its kind waits, and this turn has room.
bool review_turns::free_for(std::size_t bytes) const {
    if (bytes > small_bytes_max) return taken_ == 0 && !large_begun_ && waiting() == 0;
    return taken_ < turn_bytes && small_.empty();
}

void review_turns::take(std::size_t bytes) {
    taken_ += bytes;
    if (bytes > small_bytes_max) {
        large_begun_ = true;
        taken_ = turn_bytes;
    }
    go_on_later();
}

awaitable<review_turns::turn> review_turns::begin(std::size_t bytes) {
    const bool large = bytes > small_bytes_max;
    if (free_for(bytes)) {
        take(bytes);
        co_return turn(*this, large);
    }
    struct place {
        place(queue& all, std::size_t of_bytes) : in(all), self{of_bytes} { in.push_back(&self); }
        ~place() {
            if (!self.granted) in.remove(&self);
        }
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        queue& in;
        waiter self;
    } mine(large ? large_ : small_, bytes);
    go_on_later();
    static_cast<void>(co_await mine.self.go.wait());
    if (!mine.self.granted) co_return turn();
    co_return turn(*this, large);
}

void review_turns::grant_first(queue& of) {
    waiter* const first = of.front();
    of.pop_front();
    first->granted = true;
    take(first->bytes);
    first->go.notify_later();
}

void review_turns::grant() {
    taken_ = 0;
    const bool large_next = !large_.empty() && !large_begun_ && (!large_was_last_ || small_.empty());
    large_was_last_ = large_next;
    if (large_next) return grant_first(large_);
    while (!small_.empty() && taken_ < turn_bytes) grant_first(small_);
}

void review_turns::end_large() {
    large_begun_ = false;
    if (!large_.empty()) go_on_later();
}

void review_turns::go_on_later() {
    if (std::exchange(going_on_, true)) return;
    asio::post(executor_, [this, alive = alive_] {
        if (!*alive) return;
        going_on_ = false;
        grant();
    });
}

}  // namespace cotrain::serve
