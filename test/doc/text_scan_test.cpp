// Looking through text of every length: what lies beside it must not matter.
#include "doc/text_scan.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cotrain::doc {
namespace {

constexpr std::size_t longest = 40;

// Exactly that many bytes, so that sanitizers see a step too far.
std::string letters(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i % 26);
    text.shrink_to_fit();
    return text;
}

TEST(text_scan, finds_the_first_byte_that_needs_a_look) {
    for (const char special : {'"', '\\', '\x1F', '\0', '\x80', '\xFF'}) {
        for (std::size_t size = 0; size <= longest; ++size) {
            std::string text = letters(size);
            EXPECT_EQ(find_special(text.data(), text.data() + size), text.data() + size);
            for (std::size_t at = size; at-- > 0;) {  // with others behind it
                text[at] = special;
                EXPECT_EQ(find_special(text.data(), text.data() + size), text.data() + at) << size;
            }
        }
    }
}

}  // namespace
}  // namespace cotrain::doc
