// Quantities: parsed, spelled and computed as k8s.io/apimachinery v0.36 does.
#include "api/quantity.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/documents.hpp"

namespace cotrain::api {
namespace {

struct spelling {
    std::string_view text;
    std::string_view stored;     // as the API server stores it
    std::string_view canonical;  // of a sum
    std::string_view tripled;
    quantity_format format;
};

constexpr spelling spellings[] = {
    // clang-format off
    {"0", "0", "0", "0", quantity_format::decimal_si},
    {"1", "1", "1", "3", quantity_format::decimal_si},
    {"+1", "+1", "1", "3", quantity_format::decimal_si},
    {"-1", "-1", "-1", "-3", quantity_format::decimal_si},
    {"1.", "1.", "1", "3", quantity_format::decimal_si},
    {"-.5", "-500m", "-500m", "-1500m", quantity_format::decimal_si},
    {".5", "500m", "500m", "1500m", quantity_format::decimal_si},
    {"1.5", "1500m", "1500m", "4500m", quantity_format::decimal_si},
    {"1.500", "1.500", "1500m", "4500m", quantity_format::decimal_si},
    {"0012", "0012", "12", "36", quantity_format::decimal_si},
    {"1e3", "1e3", "1e3", "3e3", quantity_format::decimal_exponent},
    {"1E3", "1E3", "1e3", "3e3", quantity_format::decimal_exponent},
    {"1E", "1E", "1E", "3E", quantity_format::decimal_si},
    {"1Ei", "1Ei", "1Ei", "3Ei", quantity_format::binary_si},
    {"100E", "100E", "100E", "300E", quantity_format::decimal_si},
    {"9223372036854775807", "9223372036854775807", "9223372036854775807", "27670116110564327421", quantity_format::decimal_si},
    {"9223372036854775808", "9223372036854775808", "9223372036854775808", "27670116110564327424", quantity_format::decimal_si},
    {"10Ei", "9223372036854775807", "9223372036854775807", "27670116110564327421", quantity_format::binary_si},
    {"1.5Gi", "1536Mi", "1536Mi", "4608Mi", quantity_format::binary_si},
    {"0.1Ki", "102400m", "102400m", "307200m", quantity_format::binary_si},
    {"0.5Ki", "512", "512", "1536", quantity_format::binary_si},
    {"1Ki", "1Ki", "1Ki", "3Ki", quantity_format::binary_si},
    {"1024", "1024", "1024", "3072", quantity_format::decimal_si},
    {"1024Ki", "1Mi", "1Mi", "3Mi", quantity_format::binary_si},
    {"1025Mi", "1025Mi", "1025Mi", "3075Mi", quantity_format::binary_si},
    {"1536Mi", "1536Mi", "1536Mi", "4608Mi", quantity_format::binary_si},
    {"1024Mi", "1Gi", "1Gi", "3Gi", quantity_format::binary_si},
    {"0.0000000001", "1n", "1n", "3n", quantity_format::decimal_si},
    {"1n", "1n", "1n", "3n", quantity_format::decimal_si},
    {"1.1n", "2n", "2n", "6n", quantity_format::decimal_si},
    {"-1.1n", "-2n", "-2n", "-6n", quantity_format::decimal_si},
    {"1e-10", "1e-9", "1e-9", "3e-9", quantity_format::decimal_exponent},
    {"1m", "1m", "1m", "3m", quantity_format::decimal_si},
    {"1000m", "1", "1", "3", quantity_format::decimal_si},
    {"1500m", "1500m", "1500m", "4500m", quantity_format::decimal_si},
    {"100000m", "100", "100", "300", quantity_format::decimal_si},
    {"1e6", "1e6", "1e6", "3e6", quantity_format::decimal_exponent},
    {"1e7", "10e6", "10e6", "30e6", quantity_format::decimal_exponent},
    {"12e6", "12e6", "12e6", "36e6", quantity_format::decimal_exponent},
    {"1e30", "1e30", "1e30", "3e30", quantity_format::decimal_exponent},
    {"123456789012345678901234567890", "123456789012345678901234567890", "123456789012345678901234567890", "370370367037037036703703703670", quantity_format::decimal_si},
    {"1.1234567890123", "1123456790n", "1123456790n", "3370370370n", quantity_format::decimal_si},
    {"0Ki", "0", "0", "0", quantity_format::binary_si},
    {"-0", "0", "0", "0", quantity_format::decimal_si},
    {"0m", "0", "0", "0", quantity_format::decimal_si},
    {"1e+3", "1e+3", "1e3", "3e3", quantity_format::decimal_exponent},
    {"1e-3", "1e-3", "1e-3", "3e-3", quantity_format::decimal_exponent},
    {"0.001Ki", "1024m", "1024m", "3072m", quantity_format::binary_si},
    {"-1Ki", "-1Ki", "-1Ki", "-3Ki", quantity_format::binary_si},
    {"-0.5Ki", "-512", "-512", "-1536", quantity_format::binary_si},
    {"1.0Gi", "1Gi", "1Gi", "3Gi", quantity_format::binary_si},
    {"2.5E", "2500P", "2500P", "7500P", quantity_format::decimal_si},
    {"1.25e3", "1250", "1250", "3750", quantity_format::decimal_exponent},
    {"8Ei", "9223372036854775807", "9223372036854775807", "27670116110564327421", quantity_format::binary_si},
    {"7Ei", "7Ei", "7Ei", "21Ei", quantity_format::binary_si},
    {"1e18", "1e18", "1e18", "3e18", quantity_format::decimal_exponent},
    {"1e19", "10e18", "10e18", "30e18", quantity_format::decimal_exponent},
    {"-10Ei", "-9223372036854775807", "-9223372036854775807", "-27670116110564327421", quantity_format::binary_si},
    {"1u", "1u", "1u", "3u", quantity_format::decimal_si},
    {"5k", "5k", "5k", "15k", quantity_format::decimal_si},
    {"1T", "1T", "1T", "3T", quantity_format::decimal_si},
    {"1P", "1P", "1P", "3P", quantity_format::decimal_si},
    {"1.5Ei", "1536Pi", "1536Pi", "4608Pi", quantity_format::binary_si},
    {"0.0001Ki", "102400u", "102400u", "307200u", quantity_format::decimal_si},
    {"1000k", "1M", "1M", "3M", quantity_format::decimal_si},
    {"1000000", "1M", "1M", "3M", quantity_format::decimal_si},
    {"3Gi", "3Gi", "3Gi", "9Gi", quantity_format::binary_si},
    {"1000Gi", "1000Gi", "1000Gi", "3000Gi", quantity_format::binary_si},
    {"2", "2", "2", "6", quantity_format::decimal_si},
    {"16Gi", "16Gi", "16Gi", "48Gi", quantity_format::binary_si},
    {"250m", "250m", "250m", "750m", quantity_format::decimal_si},
    {"100M", "100M", "100M", "300M", quantity_format::decimal_si},
    {"1.25Gi", "1280Mi", "1280Mi", "3840Mi", quantity_format::binary_si},
    {"99999999999999999999Mi", "9223372036854775807", "9223372036854775807", "27670116110564327421", quantity_format::binary_si},
    {"0.3Mi", "314572800m", "314572800m", "943718400m", quantity_format::binary_si},
    // clang-format on
};

quantity q(std::string_view text) {
    auto parsed = quantity::parse(text);
    if (!parsed) throw std::invalid_argument(parsed.error().message);
    return *parsed;
}

TEST(quantity, is_spelled_as_go_spells_it) {
    for (const auto& [text, stored, canonical, tripled, format] : spellings) {
        EXPECT_EQ(normal_quantity(text).value_or("?"), stored) << text;
        EXPECT_EQ((quantity() + q(text)).to_string(), canonical) << text;
        EXPECT_EQ((q(text) * 3).to_string(), tripled) << text;
        EXPECT_EQ(q(text).format(), format) << text;
    }
}

TEST(quantity, refuses_what_is_none) {
    for (const std::string_view text :
         {"",  " ",    "lots", "1 ",   "1i",  "1K",   "1KB",   "1kib", "1Kib",  "1e", "e3",  ".",   "+",
          "-", "1..2", "--1",  "1e3e", "1,5", "0x10", "1_000", "Gi",   "1e1.5", "٣",  "1m1", "NaN", "inf"}) {
        const auto result = quantity::parse(text);
        ASSERT_FALSE(result) << text << " = " << result->to_string();
        EXPECT_TRUE(result.error().message.find("is not a quantity") != std::string::npos);
    }
    EXPECT_EQ(quantity::parse("lots").error().message,
              "\"lots\" is not a quantity: expected a number with an optional suffix, like 2, 500m, 1.5Gi, 3k or 2e3");
}

TEST(quantity, refuses_what_it_cannot_hold) {
    EXPECT_FALSE(quantity::parse(std::string(39, '9')));
    EXPECT_FALSE(quantity::parse("1." + std::string(50, '1')));
    EXPECT_FALSE(quantity::parse("1e99999999999999999999"));
    EXPECT_FALSE(quantity::parse(std::string(1'000'000, '1') + "."));
    EXPECT_TRUE(quantity::parse("1." + std::string(50, '0')));
    EXPECT_EQ(q(std::string(100, '9') + "Ki").to_string(), "9223372036854775807");
    EXPECT_EQ(q("1e-1000000").to_string(), "1e-9");
}

TEST(quantity, comes_from_documents) {
    doc::arena memory;
    EXPECT_EQ(quantity::parse(doc::from_json(memory, "8"))->to_string(), "8");
    EXPECT_EQ(quantity::parse(doc::from_json(memory, "0.5"))->to_string(), "500m");
    EXPECT_EQ(quantity::parse(doc::from_json(memory, "\" 2Gi \""))->to_string(), "2Gi");
    EXPECT_EQ(quantity::parse(doc::from_json(memory, "true")).error().message, "expected a quantity, got a boolean");
}

TEST(quantity, sums_take_the_format_of_the_first_that_is_not_zero) {
    EXPECT_EQ((q("1Gi") + q("1G")).to_string(), "2073741824");
    EXPECT_EQ((q("1G") + q("1Gi")).to_string(), "2073741824");
    EXPECT_EQ((q("0") + q("1Gi")).to_string(), "1Gi");
    EXPECT_EQ((q("1Gi") - q("1Gi") + q("1k")).to_string(), "1k");
    EXPECT_EQ((q("1Gi") + q("100m")).to_string(), "1073741824100m");
    EXPECT_EQ((q("2") + q("500m")).to_string(), "2500m");
    EXPECT_EQ((q("1e3") + q("1")).to_string(), "1001");
    EXPECT_EQ((q("1.5") - q("2")).to_string(), "-500m");
}

TEST(quantity, values_round_away_from_zero) {
    EXPECT_EQ(q("1.1").value(), 2);
    EXPECT_EQ(q("-1.1").value(), -2);
    EXPECT_EQ(q("1n").value(), 1);
    EXPECT_EQ(q("1n").milli_value(), 1);
    EXPECT_EQ(q("1500m").milli_value(), 1500);
    EXPECT_EQ(q("2Ki").milli_value(), 2'048'000);
    EXPECT_EQ(q("0").value(), 0);
    EXPECT_EQ(q("1e30").value(), INT64_MAX);
    EXPECT_EQ(q("-1e30").value(), INT64_MIN);
    EXPECT_EQ(q("9223372036854775807").milli_value(), INT64_MAX);
    EXPECT_EQ(q("3M").scaled_value(6), 3);
    EXPECT_EQ(q("3000001").scaled_value(6), 4);
}

TEST(quantity, compares_amounts) {
    EXPECT_EQ(q("1"), q("1000m"));
    EXPECT_EQ(q("1Ki"), q("1024"));
    EXPECT_LT(q("1023"), q("1Ki"));
    EXPECT_LT(q("-1"), q("1n"));
    EXPECT_LT(q("1"), q("1e30"));
    EXPECT_GT(q("-1n"), q("-1e30"));
    EXPECT_LT(q("12345678901234567890123456789012345678"), q("1e100"));
    EXPECT_GT(q("-12345678901234567890123456789012345678"), q("-1e100"));
    EXPECT_TRUE(q("0Gi").is_zero());
    EXPECT_EQ(q("-5m").sign(), -1);
}

TEST(quantity, a_million_pods_of_the_largest_amount_still_add_up) {
    const quantity sum = q("9223372036854775807") * 1'000'000;
    EXPECT_FALSE(sum.overflowed());
    EXPECT_EQ(sum.to_string(), "9223372036854775807M");
}

TEST(quantity, an_overflow_is_told) {
    quantity a = q("99999999999999999999999999999999999999");
    a += q("1n");
    EXPECT_TRUE(a.overflowed());
    EXPECT_EQ(a.value(), INT64_MAX);
    quantity b = q("-99999999999999999999999999999999999999");
    b *= 1'000;
    EXPECT_TRUE(b.overflowed());
    EXPECT_EQ(b.sign(), -1);
    EXPECT_TRUE((q("1") + a).overflowed()) << "and carried on";
}

// Random amounts.

quantity random_quantity(base::random_source& random) {
    static constexpr std::string_view suffixes[] = {"", "m", "u", "n", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-2"};
    std::string text = random.next() % 4 == 0 ? "-" : "";
    text += std::to_string(random.next() % (1ULL << (random.next() % 40)));
    if (random.next() % 3 == 0) text += "." + std::to_string(random.next() % 1000);
    return q(text.append(suffixes[random.next() % std::size(suffixes)]));
}

TEST(quantity_property, obeys_the_laws_of_arithmetic) {
    base::random_source random(1);
    for (int i = 0; i < 20'000; ++i) {
        const quantity a = random_quantity(random);
        const quantity b = random_quantity(random);
        const quantity c = random_quantity(random);
        const auto n = static_cast<std::int64_t>(random.next() % 1000);
        ASSERT_EQ(a + b, b + a);
        ASSERT_EQ((a + b) + c, a + (b + c));
        ASSERT_EQ((a + b) * n, a * n + b * n);
        ASSERT_EQ(a + b - b, a);
        ASSERT_EQ((a <=> b) == 0, (b <=> a) == 0);
        ASSERT_EQ(a<b, b> a);
        ASSERT_EQ(a < b, (a - b).sign() < 0);
        ASSERT_FALSE((a * n + b).overflowed());
    }
}

TEST(quantity_property, spelling_loses_nothing_and_is_stable) {
    base::random_source random(2);
    for (int i = 0; i < 20'000; ++i) {
        const quantity a = random_quantity(random);
        const std::string text = a.to_string();
        ASSERT_EQ(q(text), a) << text;
        ASSERT_EQ(q(text).to_string(), text);
        ASSERT_EQ(q(normal_quantity(text).value_or("?")), a) << text;
        ASSERT_EQ(text.find('.'), std::string::npos);
    }
}

}  // namespace
}  // namespace cotrain::api
