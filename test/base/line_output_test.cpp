// A log whose reader sleeps: nobody waits for it, and what comes out is whole lines and a true count of the others.
#include "base/log_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/log.hpp"
#include "base/random.hpp"

namespace cotrain::base {
namespace {

class line_output_test : public testing::Test {
   protected:
    line_output_test() {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);  // the reading end alone
    }
    ~line_output_test() override {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    std::string read(std::size_t bytes_max) const {
        std::string out(bytes_max, '\0');
        const ssize_t n = ::read(ends_[0], out.data(), out.size());
        out.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
        return out;
    }
    static std::string line(std::uint64_t number, std::size_t bytes) {
        return format_line(
            0, level::info, "a line",
            {{"number", static_cast<std::int64_t>(number)}, {"text", std::string_view(text_).substr(0, bytes)}});
    }

    std::array<int, 2> ends_{};
    inline static const std::string text_ = std::string(7000, 'x');
};

TEST_F(line_output_test, a_full_pipe_is_not_waited_for) {
    line_output out(ends_[1]);
    std::uint64_t sent = 0;
    while (out.lost() == 0) out.write(line(++sent, 500));  // with a write that waits, this never ends
    for (int i = 0; i < 10; ++i) out.write(line(++sent, 500));
    EXPECT_EQ(out.lost(), 11U);
    while (!read(65536).empty()) {
    }
    out.write(line(0, 0));
    const std::string then = read(65536);
    EXPECT_TRUE(then.contains(R"("msg":"log lines dropped, nobody reads standard error fast enough","lines":11})"))
        << then;
    EXPECT_TRUE(then.ends_with(line(0, 0))) << then;
    EXPECT_EQ(out.lost(), 0U);
    EXPECT_EQ(::fcntl(ends_[1], F_GETFL) & O_NONBLOCK, 0) << "others may share it";
}

TEST_F(line_output_test, lines_stay_whole_and_every_line_is_written_or_counted) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        random_source random(seed);
        line_output out(ends_[1]);
        std::string all;
        const std::uint64_t sent = 200;
        for (std::uint64_t i = 0; i < sent; ++i) {
            out.write(line(i, random.next() % 7000));
            if (random.next() % 3 == 0) all += read(random.next() % 30'000);
        }
        // The end of the last one, and the count.
        for (std::string more = read(65536); !more.empty(); more = read(65536)) all += more;
        out.write(line(sent, 0));
        for (std::string more = read(65536); !more.empty(); more = read(65536)) all += more;
        std::uint64_t written = 0;
        std::uint64_t lost = 0;
        for (std::size_t at = 0; at < all.size();) {
            const std::size_t end = all.find('\n', at);
            ASSERT_NE(end, std::string::npos) << "half a line";
            const std::string one = all.substr(at, end - at);
            ASSERT_TRUE(one.starts_with(R"({"time":)") && one.ends_with("}")) << one.substr(0, 200);
            ASSERT_EQ(one.find(R"({"time":)", 1), std::string::npos) << one.substr(0, 200);
            const std::size_t lines = one.find(R"("lines":)");
            if (lines == std::string::npos)
                ++written;
            else
                lost += std::stoul(one.substr(lines + 8));
            at = end + 1;
        }
        EXPECT_EQ(written + lost + out.lost(), sent + 1) << seed;
        EXPECT_EQ(out.lost(), 0U);
    }
}

}  // namespace
}  // namespace cotrain::base
