// Controllers as child processes: what they said, and how much of it is kept.
#include "bench/child.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.hpp"

namespace cotrain::bench {
namespace {

std::string ending_of(const std::string& command) {
    const test::temp_dir dir;
    const auto child = bench_child::start(shell_words(command), "kubeconfig", dir.path());
    if (!child) return child.error().message;
    while ((*child)->alive()) {
    }
    return (*child)->ending();
}

TEST(bench_child, tells_the_last_line_that_was_said) {
    EXPECT_EQ(ending_of("echo one; echo two >&2; exit 3"), "exit code 3: two");
    EXPECT_EQ(ending_of("true"), "exit code 0");
    EXPECT_EQ(ending_of("head -c 3000000 /dev/zero; echo; echo the end; echo; kill -9 $$"), "signal 9: the end");
}

TEST(bench_child, keeps_little_of_what_a_talkative_controller_says) {
    const test::temp_dir dir;
    const auto child =
        bench_child::start(shell_words("while :; do head -c 100000 /dev/zero; done"), "kubeconfig", dir.path());
    ASSERT_TRUE(child) << child.error().message;
    std::uintmax_t before = 0, now = 0;
    do {
        before = now;
        ASSERT_TRUE((*child)->alive());
        now = std::filesystem::file_size(dir.path("said"));
        ASSERT_LT(now, 64 * bench_log_bytes_max);
    } while (now >= before);
}

}  // namespace
}  // namespace cotrain::bench
