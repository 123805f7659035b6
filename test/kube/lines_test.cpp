// Lines out of chunks: however a stream is cut, the same lines come out; whole ones are not copied.
#include "kube/watch_stream.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cotrain::kube {
namespace {

std::vector<std::string> lines_of(line_splitter& splitter, std::string_view stream, std::size_t piece) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < stream.size(); i += piece) {
        const std::string chunk(stream.substr(i, piece));
        splitter.feed(chunk);
        for (auto line = splitter.next();; line = splitter.next()) {
            if (!line) return {"error"};
            if (!*line) break;
            lines.emplace_back(**line);
        }
    }
    return lines;
}

TEST(line_splitter, gives_the_same_lines_for_every_cut) {
    const std::string stream = "{\"a\":1}\n\n{\"b\":22}\r\n\r\n{\"c\":333}\n{\"half\":";
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        line_splitter splitter(100);
        EXPECT_EQ(lines_of(splitter, stream, piece),
                  (std::vector<std::string>{"{\"a\":1}", "{\"b\":22}", "{\"c\":333}"}))
            << piece;
        EXPECT_EQ(splitter.pending(), 8U) << piece;
    }
}

TEST(line_splitter, hands_out_views_into_the_chunk) {
    line_splitter splitter(100);
    const std::string chunk = "one\ntwo\nthr";
    splitter.feed(chunk);
    const auto one = splitter.next();
    ASSERT_TRUE(one && *one);
    EXPECT_EQ((*one)->data(), chunk.data());
    const auto two = splitter.next();
    ASSERT_TRUE(two && *two);
    EXPECT_EQ((*two)->data(), chunk.data() + 4);
    EXPECT_EQ(*splitter.next(), std::nullopt);
    EXPECT_EQ(splitter.pending(), 3U);
}

TEST(line_splitter, bounds_a_line_within_and_across_chunks) {
    line_splitter within(5);
    within.feed("12345\n123456\n");
    EXPECT_EQ(**within.next(), "12345");
    EXPECT_EQ(within.next().error().code, base::errc::too_large);

    line_splitter across(5);
    EXPECT_EQ(lines_of(across, "12345\n123456", 4), std::vector<std::string>{"error"});
    line_splitter endless(1000);
    EXPECT_EQ(lines_of(endless, std::string(5000, 'x'), 7), std::vector<std::string>{"error"});
    EXPECT_LE(endless.pending(), 1000U);
}

}  // namespace
}  // namespace cotrain::kube
