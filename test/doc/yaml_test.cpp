// YAML beyond the tables: streams, merges, bounds, and what we take on purpose although go-yaml does not.
#include "doc/yaml.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/documents.hpp"

namespace cotrain::doc {
namespace {

using base::errc;

std::string json_of(std::string_view yaml) {
    arena memory;
    const auto d = parse_yaml(memory, yaml);
    return d ? to_json(*d) : d.error().message;
}

TEST(yaml, streams_have_documents_with_lines) {
    arena memory;
    const auto list = parse_yaml_stream(memory,
                                        "# head\n---\n---\na: 1\n---\n# only a comment\n---\n\n- 2\n...\n"
                                        "%YAML 1.1\n---\n\"x\"\n--- |\n  text\n");
    ASSERT_TRUE(list) << list.error().message;
    ASSERT_EQ(list->size(), 4U);
    EXPECT_EQ(to_json((*list)[0].value), R"({"a":1})");
    EXPECT_EQ((*list)[0].line, 4U);
    EXPECT_EQ(to_json((*list)[1].value), "[2]");
    EXPECT_EQ((*list)[1].line, 9U);
    EXPECT_EQ(to_json((*list)[2].value), "\"x\"");
    EXPECT_EQ(to_json((*list)[3].value), R"("text\n")");
}

TEST(yaml, anchors_do_not_reach_the_next_document) {
    arena memory;
    const auto list = parse_yaml_stream(memory, "a: &x 1\n---\nb: *x\n");
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().message, "line 3, column 4: unknown anchor 'x'");
}

TEST(yaml, one_document_is_one) {
    EXPECT_EQ(json_of("a: 1\n---\n"), R"({"a":1})");
    EXPECT_EQ(json_of(""), "null");
    EXPECT_EQ(json_of("a: 1\n---\nb: 2\n"), "line 3, column 1: a second document where one is expected");
}

TEST(yaml, what_follows_a_document_is_not_dropped) {
    EXPECT_EQ(json_of("a: 1\n b"), R"({"a":"1 b"})");
    EXPECT_EQ(json_of("  a: 1\nb: 2\n"),
              "line 2, column 1: this belongs to nothing above: check the indentation, or put '---' between documents");
    EXPECT_EQ(json_of("\"a\" b"),
              "line 1, column 5: this belongs to nothing above: check the indentation, or put '---' between documents");
}

TEST(yaml, merges_take_the_place_of_what_stands_before) {
    EXPECT_EQ(json_of("a: &x {k: 1, j: 2}\nb:\n  j: 3\n  <<: *x\n"), R"({"a":{"k":1,"j":2},"b":{"j":2,"k":1}})");
    EXPECT_EQ(json_of("a: &x {k: 1, j: 2}\nb:\n  <<: *x\n  j: 3\n"), R"({"a":{"k":1,"j":2},"b":{"j":3,"k":1}})");
    EXPECT_EQ(json_of("- &x {k: 1}\n- &y {k: 2, z: 1}\n- <<: [*x, *y]\n"), R"([{"k":1},{"k":2,"z":1},{"k":1,"z":1}])");
    EXPECT_EQ(json_of("<<: {a: {b: 1}}\nc: 2\n"), R"({"c":2,"a":{"b":1}})");
    EXPECT_EQ(json_of("{a: 1, <<: {a: 2, b: 2, c: 2}, b: 3, <<: {c: 4}}"), R"({"a":2,"b":3,"c":4})");
    EXPECT_EQ(json_of("<<: [1]\n"), "line 1, column 1: '<<' takes an object or a list of objects");
}

TEST(yaml, json_objects_may_follow_each_other) {
    arena memory;
    for (const char* text : {R"({"a":1}{"b":2})", "{\"a\":1}\n\n{\"b\":2}\n", "\n {\"a\":1} {\"b\":2}"}) {
        const auto list = parse_yaml_stream(memory, text);
        ASSERT_TRUE(list) << list.error().message;
        ASSERT_EQ(list->size(), 2U) << text;
        EXPECT_EQ(to_json(list->front().value) + to_json(list->back().value), R"({"a":1}{"b":2})");
    }
    EXPECT_EQ(parse_yaml_stream(memory, "\n{\"a\":\n1}\n{\"b\":2}")->back().line, 4U);
    EXPECT_FALSE(parse_yaml_stream(memory, R"({"a":1} x)"));
    EXPECT_FALSE(parse_yaml_stream(memory, "{a: 1} # one\n{b: 2}"));
    EXPECT_FALSE(parse_yaml_stream(memory, "a: 1\n{b: 2}"));
}

TEST(yaml, every_json_escape_is_taken) {
    EXPECT_EQ(json_of(R"({"a": "\/\ud83d\ude00\u00e9"})"), "{\"a\":\"/\U0001F600\u00e9\"}");
    EXPECT_EQ(json_of(R"({"a": "\/\u00e9\x41\e\_\N\L\P"})"), "{\"a\":\"/\u00e9A\\u001b\u00a0\u0085\u2028\u2029\"}");
    EXPECT_EQ(json_of("{\"a\"\t:\t[1,\n\t2]}"), R"({"a":[1,2]})");
}

TEST(yaml, numbers_keep_their_digits) {
    EXPECT_EQ(json_of("- 1e3\n- 1E-7\n- 123456789012345678901234567890\n- 0.10\n"),
              "[1e3,1E-7,123456789012345678901234567890,0.10]");
    EXPECT_EQ(json_of("- .5\n- 1.\n- +1\n- 0x10\n- 1_0\n- -0\n- -0.\n- 0o17\n- 00.5\n"), "[0.5,1,1,16,10,0,0,15,0.5]");
}

TEST(yaml, numbers_as_names_are_text) {
    EXPECT_EQ(json_of("1.50: a\n0x10: b\n1e6: c\n100000.0: d\n1e-5: e\n-2.5: f\n"),
              R"({"1.5":"a","16":"b","1e+06":"c","100000":"d","1e-05":"e","-2.5":"f"})");
    EXPECT_EQ(json_of("1e80: a\n1e-400: b\n"), R"({"1e80":"a","1e-400":"b"})");
}

TEST(yaml, windows_line_ends_and_a_byte_order_mark) {
    EXPECT_EQ(json_of("\xEF\xBB\xBF"
                      "a: |\r\n  x\r\n  y\r\nb: \"c\r\n  d\"\r\n"),
              R"({"a":"x\ny\n","b":"c d"})");
    arena memory;
    EXPECT_EQ(parse_yaml(memory,
                         "\xFF\xFE"
                         "a")
                  .error()
                  .message,
              "line 1, column 1: the text is UTF-16, expected UTF-8");
}

TEST(yaml, what_is_no_text_is_refused) {
    EXPECT_EQ(json_of(std::string_view("a: 1\nb: \0\n", 10)), "line 2, column 4: control characters are not allowed");
    EXPECT_EQ(json_of("a: 1\nb: \xFF\n"), "line 2, column 4: invalid leading UTF-8 octet");
    EXPECT_EQ(json_of("a: \xED\xA0\x80\n"), "line 1, column 4: invalid Unicode character");
    EXPECT_EQ(json_of("a: \xEF\xBF\xBF\n"), "line 1, column 4: control characters are not allowed");
    EXPECT_EQ(json_of("a: é\nü: \x1B\n"), "line 2, column 4: control characters are not allowed");
}

TEST(yaml, deep_nesting_is_refused) {
    const std::string deep(1'000'000, '[');
    EXPECT_EQ(json_of(deep), "line 1, column 501: nested deeper than 500 levels");
    std::string dashes;
    for (int i = 0; i < 100'000; ++i) dashes += "- ";
    EXPECT_TRUE(json_of(dashes).ends_with("nested deeper than 500 levels"));
    std::string steps;
    for (std::size_t i = 0; i < 2000; ++i) steps += std::string(i, ' ') + "a:\n";
    EXPECT_TRUE(json_of(steps).ends_with("nested deeper than 500 levels"));
    const std::string right = std::string(500, '[') + "1" + std::string(500, ']');
    EXPECT_EQ(json_of(right), right);
}

TEST(yaml, aliases_cannot_nest_without_bound) {
    std::string text = "- &a0 [x]\n";
    for (int i = 1; i < 2000; ++i) text += "- &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
    EXPECT_TRUE(json_of(text).contains("aliases stand for more than")) << json_of(text).substr(0, 200);
}

TEST(yaml, aliases_cannot_multiply_without_bound) {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 30; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
        for (int j = 0; j < 8; ++j) text += ", " + before;
        text += "]\n";
    }
    arena memory;
    const auto result = parse_yaml(memory, text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, errc::too_large);
    EXPECT_TRUE(result.error().message.contains("aliases stand for more than")) << result.error().message;
}

// Half a megabyte that stands for a gigabyte: one long text, and two thousand aliases of it.
TEST(yaml, aliases_are_counted_in_bytes) {
    std::string text = "a: &a " + std::string(490'000, 'x') + "\nb: [";
    for (int i = 0; i < 2000; ++i) text += "*a, ";
    arena memory;
    const auto result = parse_yaml(memory, text + "]\n");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, errc::too_large);
    EXPECT_LT(memory.bytes_reserved(), 2 * text.size());

    std::string modest = "a: &a {image: registry.example/trainer, cpu: 2, memory: 4Gi}\nb:\n";
    for (int i = 0; i < 500; ++i) modest += "- name: job\n  resources: *a\n";
    EXPECT_TRUE(parse_yaml(memory, modest));
}

// What aliases may stand for is a multiple of the text, whatever they are repeated in.
TEST(yaml, what_aliases_make_of_a_text_is_a_few_times_its_size) {
    base::random_source random(7);
    for (int round = 0; round < 300; ++round) {
        std::string text;
        const auto anchors = 1 + random.next() % 12;
        for (std::uint64_t i = 0; i < anchors; ++i) {
            text += "k" + std::to_string(i) + ": &a" + std::to_string(i) + " [" +
                    std::string(1 + random.next() % (random.next() % 2 == 0 ? 20 : 20'000), 'x');
            const auto uses = i == 0 ? 0 : random.next() % 40;
            for (std::uint64_t use = 0; use < uses; ++use) text += ", *a" + std::to_string(random.next() % i);
            text += "]\n";
        }
        arena memory;
        const auto result = parse_yaml(memory, text);
        if (!result) continue;
        EXPECT_LE(to_json(*result).size(), yaml_expanded_bytes_free + 10 * text.size()) << text.size();
    }
}

TEST(yaml, aliases_can_be_refused) {
    arena memory;
    const auto result = parse_yaml(memory, "a: &a 1\nb: *a\n", {}, yaml_aliases::refused);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "line 2, column 4: an alias is not allowed here");
    EXPECT_TRUE(parse_yaml(memory, "a: &a 1\nb: '*a'\n", {}, yaml_aliases::refused));
}

TEST(yaml, a_text_of_bounded_length_is_cut_and_says_so) {
    arena memory;
    const std::string source = std::string(300, '[') + "{a: 1, b: 2}, {c: 3}" + std::string(300, ']');
    const ref deep = *parse_yaml(memory, source);
    std::string text;
    EXPECT_FALSE(append_yaml(text, deep, 100));
    EXPECT_LT(text.size(), 2000U);
    text.clear();
    EXPECT_TRUE(append_yaml(text, deep, 10'000));
    EXPECT_EQ(text, to_yaml(deep));
}

TEST(yaml, merges_cannot_multiply_without_bound) {
    std::string text = "a0: &a0 {k0: 1, k1: 1, k2: 1, k3: 1}\n";
    text += "b: &b\n  <<: [";
    for (int i = 0; i < 500; ++i) text += "*a0, ";
    text += "]\n";
    EXPECT_TRUE(json_of(text).ends_with(R"("b":{"k0":1,"k1":1,"k2":1,"k3":1}})"));
    std::string wide = "a: &a {";
    for (int i = 0; i < 20'000; ++i) wide += "k" + std::to_string(i) + ": 1, ";
    wide += "}\nb:\n  <<: [";
    for (int i = 0; i < 20'000; ++i) wide += "*a, ";
    EXPECT_TRUE(json_of(wide + "]\n").contains("aliases stand for more than"));
}

TEST(yaml, large_texts_are_refused_unread) {
    arena memory;
    const auto result = parse_yaml_stream(memory, std::string(100'000'000, '\n'));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "YAML of 100000000 bytes is larger than the 33554432 allowed");
    arena small(1'000'000);
    std::string many = "[";
    for (int i = 0; i < 300'000; ++i) many += "[0],";
    const auto crowded = parse_yaml(small, many + "]");
    ASSERT_FALSE(crowded);
    EXPECT_TRUE(crowded.error().message.ends_with("the document needs more memory than is allowed"));
}

TEST(yaml, ten_thousand_documents) {
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += "---\nkind: TrainJob\nmetadata: {name: j" + std::to_string(i) + "}\n";
    arena memory;
    const auto list = parse_yaml_stream(memory, text);
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), 10'000U);
    EXPECT_EQ(list->back().value.get({"metadata", "name"}).text(), "j9999");
    EXPECT_EQ(list->back().line, 29'999U);
}

TEST(yaml, many_names_and_anchors_take_no_square_of_time) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += "k" + std::to_string(i) + ": &a" + std::to_string(i) + " x\n";
    for (int i = 0; i < 100'000; ++i) text += "l" + std::to_string(i) + ": *a" + std::to_string(i) + "\n";
    arena memory;
    const auto d = parse_yaml(memory, text);
    ASSERT_TRUE(d) << d.error().message;
    EXPECT_EQ(d->size(), 200'000U);
}

TEST(yaml, a_name_that_occurs_twice_is_a_warning_of_a_stream_and_an_error_of_one_document) {
    const std::string_view text = "a: 1\n---\nb: 1\nc: {x: 1, x: 2, x: 3}\nb: 2\n";
    arena memory;
    const auto list = parse_yaml_stream(memory, text);
    ASSERT_TRUE(list) << list.error().message;
    ASSERT_EQ(list->size(), 2U);
    EXPECT_TRUE(list->front().warnings.empty());
    EXPECT_EQ(to_json(list->back().value), R"({"b":2,"c":{"x":3}})");
    EXPECT_EQ(list->back().warnings,
              (std::vector<std::string>{"line 4, column 11: 'x' occurs twice in the same object",
                                        "line 5, column 1: 'b' occurs twice in the same object"}));
    EXPECT_EQ(json_of(text.substr(9)), "line 2, column 11: 'x' occurs twice in the same object");
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "- {a: 1, a: 1}\n";
    EXPECT_EQ(parse_yaml_stream(memory, many)->front().warnings.size(), yaml_warnings_max);
}

TEST(yaml, the_last_line_needs_no_end) {
    EXPECT_EQ(json_of("a: |\n  x"), R"({"a":"x\n"})");
    EXPECT_EQ(json_of("a: |-\n  x"), R"({"a":"x"})");
    EXPECT_EQ(json_of("a: x"), R"({"a":"x"})");
}

TEST(yaml, documents_need_their_text_no_more) {
    arena memory;
    for (const std::string_view text :
         {"{\"name\": \"long enough to be on the heap\"}", "name: long enough to be on the heap\n"}) {
        const auto d = parse_yaml(memory, std::string(text));
        EXPECT_EQ(to_json(*d), R"({"name":"long enough to be on the heap"})");
    }
}

TEST(yaml, tag_directives_take_no_square_of_time) {
    std::string text;
    for (std::size_t i = 0; i < yaml_tag_directives_max; ++i) text += "%TAG !a" + std::to_string(i) + "! tag:x\n";
    EXPECT_EQ(json_of(text + "---\na: !a7!b c\n"), R"({"a":"c"})");
    EXPECT_EQ(json_of(text + "%TAG !b! tag:x\n---\na: 1\n"), "line 101, column 1: more than 100 %TAG lines");
}

// Spelling, as sigs.k8s.io/yaml prints it.

std::string yaml_of(std::string_view json) {
    arena memory;
    return to_yaml(from_json(memory, json));
}

TEST(yaml_write, blocks_with_sorted_names) {
    EXPECT_EQ(yaml_of(R"({"b":[1,{"y":null,"x":[]},[true,["z"]]],"a":{"c":{}},"node10":1,"node2":2,"Z":0,"_":0})"),
              "_: 0\nZ: 0\na:\n  c: {}\nb:\n- 1\n- x: []\n  \"y\": null\n- - true\n  - - z\nnode2: 2\nnode10: 1\n");
    EXPECT_EQ(yaml_of("[]"), "[]\n");
    EXPECT_EQ(yaml_of("null"), "null\n");
    EXPECT_EQ(yaml_of("1e3"), "1e3\n");
}

TEST(yaml_write, the_order_of_names_is_one) {
    const std::vector<std::string> names{"",  "-",  "1",  "01x", "0xa", "0107d", "2", "10",
                                         "a", "a-", "a1", "a01", "a2",  "a10",   "ab"};
    std::string expected;
    for (std::size_t turn = 0; turn < names.size(); ++turn) {
        arena memory;
        editor e = editor::object(memory);
        for (std::size_t i = 0; i < names.size(); ++i) e.set(names[(i * 4 + turn) % names.size()], nullptr);
        ASSERT_EQ(e.size(), names.size());
        if (turn == 0) expected = to_yaml(e);
        EXPECT_EQ(to_yaml(e), expected);
    }
}

TEST(yaml_write, text_that_would_read_as_something_else_is_quoted) {
    EXPECT_EQ(
        yaml_of(R"(["", "true", "no", "1", "0x1F", "1e3", "~", "null", "1:30", "2024-01-01", "<<", ".inf", "0o7"])"),
        "- \"\"\n- \"true\"\n- \"no\"\n- \"1\"\n- \"0x1F\"\n- \"1e3\"\n- \"~\"\n- \"null\"\n- \"1:30\"\n"
        "- \"2024-01-01\"\n- \"<<\"\n- \".inf\"\n- \"0o7\"\n");
    EXPECT_EQ(
        yaml_of(
            R"(["a b", "a: b", "a #b", "- a", "-a", "*a", "a:", "it's", "'q'", " a", "a ", "---", "{a", "a{", "%", "a%"])"),
        "- a b\n- 'a: b'\n- 'a #b'\n- '- a'\n- -a\n- '*a'\n- 'a:'\n- it's\n- '''q'''\n- ' a'\n- 'a '\n- '---'\n"
        "- '{a'\n- a{\n- '%'\n- a%\n");
    EXPECT_EQ(yaml_of(R"(["tab\t", "bell\u0007", "é", "😀", "\u00a0", "nul\u0000"])"),
              "- \"tab\\t\"\n- \"bell\\a\"\n- é\n- \"\\U0001F600\"\n- \u00a0\n- \"nul\\0\"\n");
}

TEST(yaml_write, lines_stay_lines) {
    EXPECT_EQ(yaml_of(R"({"a":"x\ny\n","b":"x\ny","c":"x\n\n","d":" x\ny","e":"\nx","f":["x\ny\n"],"g":"x \ny"})"),
              "a: |\n  x\n  y\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: |2-\n   x\n  y\ne: |2-\n\n  x\nf:\n- |\n  x\n  y\n"
              "g: \"x \\ny\"\n");
    const std::string long_line(300, 'x');
    EXPECT_EQ(yaml_of("\"" + long_line + " " + long_line + "\""), long_line + " " + long_line + "\n");
}

TEST(yaml_write, long_names_are_marked) {
    const std::string name(200, 'n');
    const std::string text = yaml_of("{\"" + name + "\":[1],\"a\":2}");
    EXPECT_EQ(text, "a: 2\n? " + name + "\n:\n- 1\n");
    arena memory;
    EXPECT_EQ(from_yaml(memory, text).get(name).size(), 1U);
}

}  // namespace
}  // namespace cotrain::doc
