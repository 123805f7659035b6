// What may be drawn where.
#include <gtest/gtest.h>

#include "app/terminal.hpp"

namespace cotrain::app {
namespace {

TEST(terminal, draws_only_where_it_may) {
    EXPECT_TRUE(terminal_of(true, "xterm", nullptr, 120).colors);
    EXPECT_EQ(terminal_of(true, "xterm", nullptr, 120).columns, 120U);
    EXPECT_EQ(terminal_of(true, "xterm", nullptr, 0).columns, 80U);
    const terminal plain = terminal_of(true, "xterm", "1", 80);
    EXPECT_TRUE(plain.live && !plain.colors) << "NO_COLOR takes colors only";
    EXPECT_TRUE(terminal_of(true, "xterm", "", 80).colors) << "an empty NO_COLOR says nothing";
    for (const char* term : {"dumb", "", static_cast<const char*>(nullptr)}) {
        EXPECT_FALSE(terminal_of(true, term, nullptr, 80).live);
        EXPECT_FALSE(terminal_of(true, term, nullptr, 80).colors);
    }
    EXPECT_FALSE(terminal_of(false, "xterm", nullptr, 80).live) << "a pipe";
}

}  // namespace
}  // namespace cotrain::app
