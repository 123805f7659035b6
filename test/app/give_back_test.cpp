// Memory given back stays usable, and is gone from what the process holds.
#include "app/operator/process.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>

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

}  // namespace
}  // namespace cotrain::app
