// Warning headers: what is read from them, and that each text is logged once.
#include "kube/status.hpp"

#include <gtest/gtest.h>

namespace cotrain::kube {
namespace {

using texts = std::vector<std::string>;

TEST(read_warnings, takes_the_text_of_code_299) {
    EXPECT_EQ(read_warnings({{"warning", R"(299 - "unknown field \"spec.x\"")"}}), texts{R"(unknown field "spec.x")"});
    EXPECT_EQ(read_warnings({{"warning", R"(299 - "a" "Sat, 25 Aug 2012 23:34:45 GMT", 299 agent "b\\c",299 - "d")"}}),
              (texts{"a", R"(b\c)", "d"}));
    EXPECT_EQ(read_warnings({{"warning", R"(299 - "a")"}, {"x", "y"}, {"warning", R"(299 - "b")"}}), (texts{"a", "b"}));
}

TEST(read_warnings, skips_what_is_not_meant_or_malformed) {
    EXPECT_EQ(read_warnings({{"warning", R"(199 - "misc", 299 - "a")"}}), texts{"a"});
    for (const char* odd : {"", "299", "299 -", "299 - a", R"(299 - "a)", R"(299 - "a\)", "\"a\"", ",,,"})
        EXPECT_EQ(read_warnings({{"warning", odd}}), texts{}) << odd;
}

TEST(read_warnings, are_bounded_in_number_and_length_and_stay_one_line) {
    std::string many;
    for (int i = 0; i < 1000; ++i) many += R"(299 - "w",)";
    EXPECT_EQ(read_warnings({{"warning", many}}).size(), warnings_of_one_answer_max);
    const texts one = read_warnings({{"warning", "299 - \"a\nb" + std::string(100'000, 'x') + "\""}});
    ASSERT_EQ(one.size(), 1U);
    EXPECT_LE(one[0].size(), warning_bytes_max);
    EXPECT_TRUE(one[0].starts_with("a bx"));
}

void append_line(void* context, std::string_view line) { static_cast<texts*>(context)->emplace_back(line); }

TEST(warning_log, says_each_warning_once_and_stops_at_its_bound) {
    texts lines;
    base::logger log(append_line, &lines, base::level::info);
    warning_log warnings(log);
    warnings.note({{"content-type", "x"}}, "get A");
    warnings.note({{"warning", R"(299 - "one")"}}, "get A");
    warnings.note({{"warning", R"(299 - "one")"}}, "get B");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find(R"("warning":"one","during":"get A")"), std::string::npos);
    for (int i = 0; i < 2000; ++i) warnings.note({{"warning", "299 - \"n" + std::to_string(i) + "\""}}, "x");
    EXPECT_EQ(lines.size(), warnings_remembered_max + 1);
    EXPECT_NE(lines.back().find("further ones are not logged"), std::string::npos);
}

}  // namespace
}  // namespace cotrain::kube
