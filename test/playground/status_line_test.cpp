// The demo's live line.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "playground/status_line.hpp"

namespace cotrain::playground {
namespace {

// Bytes of UTF-8 that begin a character: all that is drawn here is one column wide.
std::size_t columns_of(const std::string& line) {
    return static_cast<std::size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(status_line, fits_every_terminal) {
    const std::vector<job_progress> two{{"torch-two", 2, 2, "Complete"}, {"mpi-pi", 4, 1, {}}};
    // As wide as it was on any terminal, so that one of 80 columns kept a copy of each drawing.
    EXPECT_EQ(columns_of(status_line(two, 200)), 90U);
    for (std::size_t columns = 1; columns <= 200; ++columns) {
        for (const std::vector<job_progress>& jobs : {two, std::vector<job_progress>{}, std::vector(9, two[0])})
            EXPECT_LT(columns_of(status_line(jobs, columns)), columns) << columns;
    }
}

TEST(status_line, has_shorter_bars_and_then_none) {
    const std::vector<job_progress> one{{"job", 2, 1, {}}};
    EXPECT_EQ(status_line(one, 80), "  job ██████████░░░░░░░░░░ 1/2 pods");
    EXPECT_EQ(status_line(one, 22), "  job ███░░░ 1/2 pods");
    EXPECT_EQ(status_line(one, 18), "  job 1/2 pods");
    EXPECT_EQ(status_line(one, 6), "  job");
    EXPECT_EQ(status_line({{{"none", 0, 0, {}}}}, 20), "  none 0/0 pods");
}

}  // namespace
}  // namespace cotrain::playground
