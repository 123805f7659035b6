// What a terminal gets to see of long work.
#include "app/render/render.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace cotrain::app {
namespace {

// What is written while `steps` are made, hiding the bar after half of them.
std::string drawn(std::size_t steps, bool wanted) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* const to = open_memstream(&text, &size);
    {
        progress_bar bar(to, steps, wanted);
        for (std::size_t i = 0; i < steps; ++i) {
            bar.step();
            if (i == steps / 2) bar.hide();
        }
    }
    std::fclose(to);
    std::string all(text, size);
    std::free(text);
    return all;
}

TEST(progress_bar, draws_now_and_then_and_leaves_nothing) {
    const std::string bar = drawn(400, true);
    const std::string blank = "\r" + std::string(54, ' ') + "\r";
    EXPECT_EQ(bar, "\r[#######                       ] 100/400\r[###############               ] 200/400" + blank +
                       "\r[######################        ] 300/400" + blank);
}

TEST(progress_bar, is_for_many_steps_on_terminals) {
    EXPECT_EQ(drawn(400, false), "");
    EXPECT_EQ(drawn(199, true), "");
    EXPECT_EQ(drawn(0, true), "");
}

}  // namespace
}  // namespace cotrain::app
