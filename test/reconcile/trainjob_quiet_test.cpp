// A reconcile that changes nothing: no request, no memory.
#include <gtest/gtest.h>

#include <cstdint>

#include "support/counted_memory.hpp"
#include "trainjob_running.hpp"

namespace cotrain::reconcile {
namespace {

constexpr int rounds = 100;

// Frames are recycled within a coroutine's thread, so the rounds run in one.
awaitable<std::uint64_t> run_often(trainjob_world* w, key k) {
    for (int i = 0; i < 3; ++i) static_cast<void>(co_await w->reconciler->reconcile(k, {}));
    const std::uint64_t before = test::allocations();
    for (int i = 0; i < rounds; ++i) static_cast<void>(co_await w->reconciler->reconcile(k, {}));
    co_return test::allocations() - before;
}

TEST(trainjob_quiet, a_run_that_changes_nothing_costs_no_memory_and_no_request) {
    trainjob_world w;
    const key job = settle_running_job(w);
    asio::io_context loop;
    const std::uint64_t made = test::run(loop, run_often(&w, job));
    EXPECT_EQ(made, 0U);
    EXPECT_TRUE(w.taken().empty());
    std::printf("goal 4: %d runs without change: %llu allocations, 0 requests\n", rounds,
                static_cast<unsigned long long>(made));
}

}  // namespace
}  // namespace cotrain::reconcile
