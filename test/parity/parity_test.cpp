// All golden cases through the live operator, its webhooks included, on a real API server.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "parity/parity_case.hpp"
#include "support/run.hpp"

namespace cotrain::parity {
namespace {

constexpr int at_once = 8;

struct outcome {
    std::string name;
    std::vector<difference> differences;
};

struct tour {
    stage* on = nullptr;
    golden::allowances meant{};
    std::vector<std::string> names{};
    std::size_t next = 0;
    std::vector<outcome> done{};
    int snapshots = 0;
};

awaitable<void> play_some(tour* t) {
    while (t->next < t->names.size()) {
        const std::size_t number = t->next++;
        live_case each(*t->on, t->meant, t->names[number], static_cast<int>(number));
        co_await each.play();
        t->snapshots += each.snapshots();
        t->done.push_back({each.name(), each.differences()});
    }
}

awaitable<void> play_all(stage* s, tour* t) {
    const bool open = co_await s->open();
    EXPECT_TRUE(open) << (s->child ? s->child->log() : "the definitions are not served");
    if (open) {
        base::task_group players(s->loop.get_executor());
        for (int i = 0; i < at_once; ++i) players.spawn("case", play_some(t));
        co_await players.join();
    }
    co_await s->close();
}

// COTRAIN_PARITY_ONLY: a case's name, for people.
bool chosen(const std::string& name) {
    const char* const only = std::getenv("COTRAIN_PARITY_ONLY");
    return only == nullptr || name.starts_with(only);
}

TEST(parity, golden_cases_come_out_of_the_live_operator_as_recorded) {
    asio::io_context loop(1);
    stage s(loop);
    tour t{.on = &s};
    for (const std::string& name : golden::all_cases())
        if (chosen(name)) t.names.push_back(name);
    test::run(loop, play_all(&s, &t));
    EXPECT_EQ(t.done.size(), t.names.size());
    std::size_t same = 0;
    for (const outcome& o : t.done) {
        if (o.differences.empty()) ++same;
        for (const difference& d : o.differences) ADD_FAILURE() << o.name << " " << d.path << ": " << d.what;
    }
    std::printf("parity: %zu of %zu cases with %d snapshots came out as recorded\n", same, t.names.size(), t.snapshots);
    if (testing::Test::HasFailure() && s.child) std::printf("%s\n", s.child->log().c_str());
}

}  // namespace
}  // namespace cotrain::parity
