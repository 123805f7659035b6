// An exception at the start of a term ends one attempt, not the process: here memory is short just where a line is
// logged.
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

#include "playground/box_scene.hpp"

namespace cotrain {
namespace {

struct short_memory {
    std::string at;
    int left = 1;  // so often it throws
    std::vector<std::string> lines{};

    static void write(void* self, std::string_view line) {
        auto& to = *static_cast<short_memory*>(self);
        to.lines.emplace_back(line);
        if (!line.contains(R"("msg":")" + to.at + "\"") || to.left == 0) return;
        --to.left;
        throw std::bad_alloc();
    }
};

class operator_term : public testing::TestWithParam<short_memory> {};

TEST_P(operator_term, begins_again_after_an_exception) {
    short_memory memory = GetParam();
    base::logger log(short_memory::write, &memory, base::level::info);
    playground::box_options options;
    options.script = *sim::read_script("start 5ms, ready 5ms, run 20ms");
    test::box_scene s(std::move(options), log);
    s.play([&](test::box_scene& scene) -> awaitable<void> {
        EXPECT_TRUE(scene.make_jobs(3));
        EXPECT_TRUE(co_await scene.until_complete(3)) << scene.complete();
        // On a slow machine the jobs are complete before the line comes.
        EXPECT_TRUE(co_await scene.until([&] { return memory.left == 0; })) << "it has to have happened";
    });
    int told = 0;
    for (const std::string& line : memory.lines)
        told += line.contains("unexpected exception") && line.contains(R"("task":"leading")") ? 1 : 0;
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(memory.lines.back().contains("operator stopped"));
}

INSTANTIATE_TEST_SUITE_P(each, operator_term,
                         testing::Values(short_memory{"caches synced"}, short_memory{"leading"},
                                         short_memory{"all TrainJobs reconciled"}));

}  // namespace
}  // namespace cotrain
