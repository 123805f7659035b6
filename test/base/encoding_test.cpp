// Base64: both directions agree, and what is not base64 is refused.
#include "base/encoding.hpp"

#include <gtest/gtest.h>

namespace cotrain::base {
namespace {

TEST(base64, round_trip_of_every_length) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes) << i;
        bytes += static_cast<char>(i * 37);
    }
    EXPECT_EQ(encode_base64("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
    EXPECT_EQ(encode_base64("any carnal pleasu"), "YW55IGNhcm5hbCBwbGVhc3U=");
}

TEST(base64, white_space_anywhere_is_skipped) {
    EXPECT_EQ(decode_base64(" YW55\n IGNh\r\n\tcm5hbA = =\n"), "any carnal");
    EXPECT_EQ(decode_base64(""), "");
}

TEST(base64, refuses_foreign_characters_and_broken_padding) {
    for (const char* text :
         {"YW5", "YW55=", "Y===", "====", "YW=5", "YW5_", "YW5-", "YW55\x01", "YQ==YQ==", "Y", "YWJj YQ"})
        EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace cotrain::base
