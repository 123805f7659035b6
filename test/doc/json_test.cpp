// The JSON reader and writers: what is taken, what is refused and where, and that nothing gets lost.
#include "doc/json.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/documents.hpp"

namespace cotrain::doc {
namespace {

using base::errc;

std::string error_of(std::string_view text, read_limits limits = {}) {
    arena memory;
    const auto result = parse_json(memory, text, limits);
    return result ? "accepted: " + to_json(*result) : result.error().message;
}

TEST(json, what_is_read_is_written_as_it_was) {
    for (const std::string_view text :
         {"null", "true", "false", "0", "-0", "1e3", "1E+3", "0.10", "123456789012345678901234567890", "\"\"", "[]",
          "{}", R"({"a":[1,{"b":[]}],"c":{"":null}})", R"("ä€😀")", R"(["a\"b\\c\nd\te"])", "\"\x7F\""}) {
        arena memory;
        const ref d = from_json(memory, text);
        EXPECT_EQ(to_json(d), text);
    }
}

TEST(json, space_and_escapes_are_normalised) {
    arena memory;
    EXPECT_EQ(to_json(from_json(memory, " { \"a\" :\t[ 1 ,\r\n2 ] } ")), R"({"a":[1,2]})");
    EXPECT_EQ(to_json(from_json(memory, R"(["\u0041\/\u00e9\ud83d\ude00\b\f\u0000"])")),
              R"(["A/é😀\u0008\u000c\u0000"])");
}

TEST(json, half_a_surrogate_pair_becomes_the_replacement_character) {
    arena memory;
    EXPECT_EQ(from_json(memory, R"("\ud800x")").text(), "\xEF\xBF\xBDx");
    EXPECT_EQ(from_json(memory, R"("\ud800\u0041")").text(),
              "\xEF\xBF\xBD"
              "A");
    EXPECT_EQ(from_json(memory, R"("\udc00")").text(), "\xEF\xBF\xBD");
}

TEST(json, of_members_with_the_same_name_the_last_counts) {
    arena memory;
    EXPECT_EQ(to_json(from_json(memory, R"({"a":1,"b":2,"a":3})")), R"({"a":3,"b":2})");
    std::string many = "{";
    for (int i = 0; i < 100; ++i)
        many += (i == 0 ? "\"k" : ",\"k") + std::to_string(i % 40) + "\":" + std::to_string(i);
    const ref d = from_json(memory, many + "}");
    EXPECT_EQ(d.size(), 40U);
    EXPECT_EQ(d.get("k0").as_int(), 80);
    EXPECT_EQ(d.get("k39").as_int(), 79);
    EXPECT_EQ(d.members()[0].key(), "k0");
}

TEST(json, says_where_and_what) {
    EXPECT_EQ(error_of(""), "line 1, column 1: unexpected end of text, expected a value");
    EXPECT_EQ(error_of("{\n  \"a\": {\"b\": [1, x]}\n}"),
              "line 2, column 18: unexpected 'x', expected a value (in a.b[1])");
    EXPECT_EQ(error_of(R"({"a" 1})"), "line 1, column 6: unexpected '1', expected ':' after a member's name");
    EXPECT_EQ(error_of(R"({"é":1,})"), "line 1, column 8: unexpected '}', expected a member's name in quotes");
    EXPECT_EQ(error_of("[1 2]"), "line 1, column 4: unexpected '2', expected ',' or ']' after an item");
    EXPECT_EQ(error_of("{}x"), "line 1, column 3: unexpected text after the end of the document");
    EXPECT_EQ(error_of("{} {}"), "line 1, column 4: unexpected text after the end of the document");
    EXPECT_EQ(error_of(std::string_view("[1\0]", 4)),
              "line 1, column 3: unexpected byte 0x00, expected ',' or ']' after an item");
    EXPECT_EQ(error_of("\"a\nb\""), "line 1, column 3: unexpected byte 0x0a, expected no control bytes in a string");
    EXPECT_EQ(error_of("\"\xFF\""), "line 1, column 2: invalid UTF-8 in a string");
    EXPECT_EQ(error_of("\"\xED\xA0\x80\""), "line 1, column 2: invalid UTF-8 in a string");
    EXPECT_EQ(error_of("\xEF\xBB\xBF{}"), "line 1, column 1: unexpected byte 0xef, expected a value");
    EXPECT_EQ(error_of("\"abc"), "line 1, column 5: unexpected end of text, expected '\"' at the end of a string");
    EXPECT_EQ(error_of(R"("\x")"), "line 1, column 2: unknown escape in a string");
    EXPECT_EQ(error_of(R"("\u12g4")"), "line 1, column 2: expected four hexadecimal digits after \\u");
}

TEST(json, numbers_follow_the_grammar) {
    for (const std::string_view text :
         {"01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "NaN", "Infinity", "1_0", "--1"}) {
        EXPECT_TRUE(error_of(text).starts_with("line 1, column ")) << text << ": " << error_of(text);
    }
}

TEST(json, words_are_spelled_out) {
    for (const std::string_view text :
         {"tru", "True", "nul", "falsey", "undefined", "'a'", "{a:1}", "[1,]", "[,1]", "{,}"}) {
        EXPECT_TRUE(error_of(text).starts_with("line 1, column ")) << text << ": " << error_of(text);
    }
}

TEST(json, deep_nesting_is_refused_without_recursion_to_match) {
    const std::string deep(1'000'000, '[');
    EXPECT_EQ(error_of(deep), "line 1, column 501: nested deeper than 500 levels (in " + std::string([] {
                                  std::string path;
                                  while (path.size() < 200) path += "[0]";
                                  return path;
                              }()) +
                                  ")");
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    EXPECT_TRUE(error_of(objects).find("nested deeper than 500 levels") != std::string::npos);
    const std::string just_right = std::string(500, '[') + std::string(500, ']');
    EXPECT_EQ(error_of(just_right), "accepted: " + just_right);
}

TEST(json, large_texts_are_refused_unread) {
    arena memory;
    const std::string text(100'000'000, ' ');
    const auto result = parse_json(memory, text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, errc::too_large);
    EXPECT_EQ(result.error().message, "JSON of 100000000 bytes is larger than the 33554432 allowed");
    EXPECT_EQ(memory.bytes_reserved(), 0U);
    EXPECT_FALSE(parse_json_copy(memory, text));
    EXPECT_EQ(memory.bytes_reserved(), 0U);
}

// A temporary string is gone before the document that refers to it.
template <class Text>
concept can_be_parsed = requires(arena& memory, Text&& text) { parse_json(memory, std::forward<Text>(text)); };
static_assert(can_be_parsed<const std::string&> && can_be_parsed<std::string_view> && can_be_parsed<const char*>);
static_assert(!can_be_parsed<std::string> && !can_be_parsed<const std::string>);

TEST(json, memory_for_many_small_values_is_bounded) {
    arena memory(1'000'000);
    std::string text = "[";
    for (int i = 0; i < 500'000; ++i) text += "[0],";
    text += "0]";
    const auto result = parse_json(memory, text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, errc::too_large);
    EXPECT_LT(memory.bytes_reserved(), 2'000'000U);
}

TEST(json, an_object_with_very_many_members_is_read) {
    std::string text = "{";
    for (int i = 0; i < 200'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
    arena memory;
    EXPECT_EQ(from_json(memory, text + "\"k0\":1}").size(), 200'000U);
}

TEST(json, compact_parts_keep_their_text_and_others_do_not) {
    arena memory;
    const ref d = from_json(
        memory, R"({"plain":{"a":[1,"é"]},"spaced":{"a": 1},"escaped":{"a":"\u0041"},"twice":{"a":1,"a":2}})");
    const auto has_text = [&](std::string_view key) { return d.get(key).body()->text != nullptr; };
    EXPECT_TRUE(has_text("plain"));
    EXPECT_FALSE(has_text("spaced"));
    EXPECT_FALSE(has_text("escaped"));
    EXPECT_FALSE(has_text("twice"));
    EXPECT_EQ(d.body()->text, nullptr);
    EXPECT_EQ(to_json(d), R"({"plain":{"a":[1,"é"]},"spaced":{"a":1},"escaped":{"a":"A"},"twice":{"a":2}})");
}

TEST(json, sorted_and_indented) {
    arena memory;
    const ref d = from_json(memory, R"({"b":[1,{"d":[],"c":{}}],"a":"x"})");
    EXPECT_EQ(sorted(d), R"({"a":"x","b":[1,{"c":{},"d":[]}]})");
    std::string text;
    append_indented_json(text, d, 2);
    EXPECT_EQ(text, "{\n  \"b\": [\n    1,\n    {\n      \"d\": [],\n      \"c\": {}\n    }\n  ],\n  \"a\": \"x\"\n}");
}

TEST(json, bytes_that_are_no_text_become_valid_json) {
    arena memory;
    editor e = editor::object(memory);
    e.set(std::string_view("k\xFF"), std::string_view("a\x01\xC3"));
    EXPECT_EQ(to_json(e), "{\"k\xEF\xBF\xBD\":\"a\\u0001\xEF\xBF\xBD\"}");
}

// Room is asked for ahead: whatever the text held, and however far its capacity reached, nothing of it shows.
TEST(json, appends_to_any_text) {
    arena memory;
    for (std::size_t size = 0; size < 40; ++size) {
        const std::string long_text(size * 31, 'x');
        editor e = editor::object(memory);
        e.set("plain", long_text).set(std::string_view("\xC3\xA9"), long_text + "\n").set("n", 1);
        const std::string alone = to_json(e);
        EXPECT_EQ(alone, "{\"plain\":\"" + long_text + "\",\"\xC3\xA9\":\"" + long_text + "\\n\",\"n\":1}");
        for (const std::size_t capacity : {0UL, 100UL, 20'000UL}) {
            std::string text(size, 'y');
            text.reserve(capacity);
            append_json(text, e);
            EXPECT_EQ(text, std::string(size, 'y') + alone);
        }
    }
}

// Random documents.

class random_document {
   public:
    random_document(arena& memory, std::uint64_t seed) : memory_(memory), random_(seed) {}

    ref make(unsigned depth = 0) {
        switch (random_.next() % (depth < 5 ? 8U : 6U)) {
            case 0: return ref::make_null();
            case 1: return ref::make_bool(random_.next() % 2 == 0);
            case 2: return ref::make_int(memory_, static_cast<std::int64_t>(random_.next()));
            case 3: return ref::make_number(numbers_[random_.next() % std::size(numbers_)]);
            case 4:
            case 5: return ref::make_string(memory_.copy(text()));
            case 6: {
                editor list = editor::array(memory_);
                for (auto i = random_.next() % 5; i > 0; --i) list.append(make(depth + 1));
                return list;
            }
            default: {
                editor object = editor::object(memory_);
                for (auto i = random_.next() % 20; i > 0; --i) object.set(text(), make(depth + 1));
                return object;
            }
        }
    }

   private:
    std::string text() {
        static constexpr std::string_view parts[] = {"a",    "name", " ",    "\n", "\t", "\"", "\\", "é", "€",
                                                     "😀",   "\0",   "x: y", "#",  "-",  "'",  "{",  "1", "~",
                                                     "true", "\x7F", ":",    "",   "\r", "e3", "0x"};
        std::string out;
        for (auto i = random_.next() % 5; i > 0; --i) out += parts[random_.next() % std::size(parts)];
        return out;
    }

    static constexpr std::string_view numbers_[] = {"0", "-1", "1.5", "1e3", "-0.0", "1E-7", "12345678901234567890123"};
    arena& memory_;
    base::random_source random_;
};

TEST(json_property, any_document_survives_writing_and_reading) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        arena memory;
        const ref d = random_document(memory, seed).make();
        const std::string text = to_json(d);
        const ref again = from_json(memory, text);
        ASSERT_TRUE(identical(d, again)) << seed << ": " << text;
        ASSERT_EQ(to_json(again), text) << "kept text differs from written text";
        std::string indented;
        append_indented_json(indented, d);
        ASSERT_TRUE(identical(d, from_json(memory, indented))) << seed;
        ASSERT_TRUE(equal(d, from_json(memory, sorted(d)))) << seed;
        ASSERT_EQ(sorted(from_json(memory, sorted(d))), sorted(d)) << seed;
        ASSERT_TRUE(identical(deep_copy(memory, d), d)) << seed;
        ASSERT_EQ(to_json(freeze(memory, d)), text) << seed;
    }
}

TEST(json_property, any_document_survives_yaml) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        arena memory;
        const ref d = random_document(memory, seed).make();
        const std::string text = to_yaml(d);
        const auto again = parse_yaml(memory, text);
        ASSERT_TRUE(again) << seed << ": " << again.error().message << "\n" << text;
        ASSERT_TRUE(equal(d, *again)) << seed << ": " << to_json(d) << "\n" << text;
        ASSERT_EQ(to_yaml(*again), text) << seed;
    }
}

TEST(json_property, json_is_yaml) {
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        arena memory;
        const ref d = random_document(memory, seed).make();
        const std::string text = to_json(d);
        if (text.find('\x7F') != std::string::npos) continue;  // which YAML forbids
        const auto again = parse_yaml(memory, text);
        ASSERT_TRUE(again) << seed << ": " << again.error().message << "\n" << text;
        ASSERT_TRUE(equal(d, *again)) << seed << ": " << text;
    }
}

TEST(json_property, every_cut_of_a_document_is_refused_or_read_without_harm) {
    arena source;
    const std::string text = to_json(random_document(source, 77).make());
    for (std::size_t i = 0; i < text.size(); ++i) {
        arena memory;
        const std::string cut = text.substr(0, i);  // of that many bytes, so that sanitizers see a step too far
        (void)parse_json(memory, cut);
        (void)parse_yaml_stream(memory, cut);
    }
}

}  // namespace
}  // namespace cotrain::doc
