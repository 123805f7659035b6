// Turns of reviews on an event loop: bounded work a turn, one large review at a time, nobody is kept waiting for ever.
#include "serve/webhook_endpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <random>
#include <string>

#include "base/task_group.hpp"

namespace cotrain::serve {
namespace {

constexpr std::size_t small = 64U << 10U;  // four make a turn
constexpr std::size_t large = review_turns::small_bytes_max + 1;

class turns : public testing::Test {
   protected:
    // What was begun in one turn of the loop stands between two bars.
    void ask(std::string name, std::size_t bytes, base::signal* until = nullptr) {
        tasks_.spawn("review", work(this, std::move(name), bytes, until));
    }
    // Until nothing more happens; somebody may still wait.
    void run() {
        loop_.restart();
        loop_.poll();
    }
    // Does that on the loop, where tasks begin at once, and then nothing more.
    void on_loop(const std::function<void()>& what) {
        asio::post(loop_, what);
        loop_.restart();
        loop_.run_one();
    }
    void spend_turn() {
        asio::post(loop_, [this] { seen_ += '|'; });
    }

    asio::io_context loop_{1};
    base::task_group tasks_{loop_.get_executor()};
    review_turns turns_{loop_.get_executor()};
    std::string seen_;

   private:
    static awaitable<void> work(turns* self, std::string name, std::size_t bytes, base::signal* until) {
        const auto turn = co_await self->turns_.begin(bytes);
        self->seen_ += turn.granted() ? name : "-";
        if (until != nullptr) static_cast<void>(co_await until->wait());
        if (bytes > review_turns::small_bytes_max) self->seen_ += '.';
    }
};

TEST_F(turns, small_ones_begin_at_once_until_they_make_a_turn) {
    on_loop([this] {
        for (const char* name : {"a", "b", "c", "d", "e", "f"}) ask(name, small);
        spend_turn();
    });
    EXPECT_EQ(seen_, "abcd");
    run();
    EXPECT_EQ(seen_, "abcd|ef") << "others had a turn before";
}

TEST_F(turns, of_large_ones_there_is_one_at_a_time) {
    base::signal first;
    on_loop([&] {
        ask("A", large, &first);
        ask("B", large);
        ask("C", large);
    });
    EXPECT_EQ(seen_, "A");
    run();
    EXPECT_EQ(seen_, "A");
    on_loop([&] { ask("a", small); });
    EXPECT_EQ(seen_, "Aa") << "small ones need not wait for it";
    first.notify_later();
    run();
    EXPECT_EQ(seen_, "Aa.B.C.");
}

TEST_F(turns, small_and_large_ones_alternate) {
    on_loop([this] {
        for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}) ask(name, small);
        for (const char* name : {"A", "B", "C"}) ask(name, large);
    });
    run();
    EXPECT_EQ(seen_, "abcdA.efghB.ijC.");
}

TEST_F(turns, who_is_cancelled_takes_no_turn) {
    base::signal never;
    on_loop([&] {
        ask("A", large, &never);
        ask("B", large);
    });
    EXPECT_EQ(turns_.waiting(), 1U);
    tasks_.cancel();
    run();
    EXPECT_EQ(turns_.waiting(), 0U);
    EXPECT_EQ(seen_.find('B'), std::string::npos);
    on_loop([&] { ask("C", large); });
    run();
    EXPECT_NE(seen_.find("C."), std::string::npos);
}

TEST_F(turns, in_any_order_all_are_begun_and_no_turn_is_longer_than_it_may_be) {
    std::mt19937 random(3);
    std::size_t asked = 0;
    for (int round = 0; round < 200; ++round) {
        for (std::size_t i = random() % 8; i > 0; --i, ++asked) {
            const std::size_t bytes = random() % 4 == 0 ? large : 1 + random() % review_turns::small_bytes_max;
            asio::post(loop_, [this, bytes] { ask(bytes == large ? "L" : "s", bytes); });
        }
        loop_.restart();
        for (std::size_t i = random() % 3; i > 0; --i) loop_.poll_one();
    }
    run();
    EXPECT_EQ(turns_.waiting(), 0U);
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(seen_, 's') + std::ranges::count(seen_, 'L')), asked);
}

}  // namespace
}  // namespace cotrain::serve
