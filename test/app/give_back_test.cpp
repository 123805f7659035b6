// Memory given back stays usable, and is gone from what the process holds.
#include "app/give_back.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace cotrain::app {
namespace {

// Pages of files that are mapped and resident, in KiB.
long resident_files() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssFile:")) return std::stol(line.substr(8));
    return 0;
}

TEST(give_back, lets_go_of_the_programs_pages_and_they_come_back) {
    const long before = resident_files();
    const std::size_t dropped = give_back_memory();
    const long after = resident_files();
    EXPECT_GT(dropped, 1U << 20U);
    EXPECT_LT(after, before);
    // What ran before runs again, with the same constants.
    EXPECT_GT(give_back_memory(), 1U << 20U);
    EXPECT_EQ(std::to_string(12.5), "12.500000");
}

TEST(give_back, empties_the_pool_of_small_blocks) {
    // Freed blocks are kept for the next burst; afterwards nothing of them is left, and new ones are whole.
    std::vector<std::unique_ptr<int[]>> burst;
    for (int i = 0; i < 100; ++i) burst.push_back(std::make_unique<int[]>(500));
    burst.clear();
    const std::size_t kept = mallinfo2().uordblks;
    give_back_memory();
    // Sanitizers bring a heap of their own, and no pool: nothing is counted there.
    EXPECT_TRUE(kept == 0 || mallinfo2().uordblks + 100'000 < kept) << kept;
    for (int i = 0; i < 100; ++i) burst.push_back(std::make_unique<int[]>(500));
    EXPECT_EQ(burst.back()[499], 0);
}

}  // namespace
}  // namespace cotrain::app
