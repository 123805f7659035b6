// UUIDs become numbers and come back as they were; anything else is kept as a text.
#include "watch/text_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cotrain::watch {
namespace {

constexpr std::string_view plain = "0123abcd-4567-89ef-fedc-ba9876543210";

TEST(uid, a_uuid_is_two_numbers) {
    text_table texts;
    const uid u = make_uid(texts, plain);
    EXPECT_EQ(u.high, 0x0123abcd456789efULL);
    EXPECT_EQ(u.low, 0xfedcba9876543210ULL);
    EXPECT_EQ(to_text(texts, u), plain);
}

// Whatever byte stands anywhere: what comes back is what went in, and only lower-case digits and dashes are numbers.
TEST(uid, every_byte_in_every_place) {
    for (std::size_t at = 0; at < plain.size(); ++at) {
        for (int byte = 0; byte < 256; ++byte) {
            text_table texts;
            std::string text(plain);
            text[at] = static_cast<char>(byte);
            const uid u = make_uid(texts, text);
            const bool digit = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
            EXPECT_EQ(u.low != ~std::uint64_t{0}, plain[at] == '-' ? byte == '-' : digit) << at << " " << byte;
            EXPECT_EQ(to_text(texts, u), text) << at << " " << byte;
            EXPECT_EQ(find_uid(texts, text), u);
            release_uid(texts, u);
        }
    }
}

TEST(uid, numbers_that_mean_something_else_are_texts) {
    for (const std::string_view text : {"00000000-0000-0000-0000-000000000000", "00000000-0000-0000-ffff-ffffffffffff",
                                        "0123abcd-4567-89ef-fedc-ba987654321", "u"}) {
        text_table texts;
        const uid u = make_uid(texts, text);
        EXPECT_FALSE(u.empty()) << text;
        EXPECT_EQ(to_text(texts, u), text);
        release_uid(texts, u);
    }
    text_table texts;
    EXPECT_TRUE(make_uid(texts, "").empty());
}

}  // namespace
}  // namespace cotrain::watch
