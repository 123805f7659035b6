// YAML that sigs.k8s.io/yaml refuses, and what we say about it.
#include <gtest/gtest.h>

#include "documents.hpp"

namespace cotrain::api {
namespace {

struct refusal {
    std::string_view yaml;
    std::string_view message;
};

constexpr refusal refusals[] = {
    // clang-format off
    {"~: 1\n", "line 1, column 1: null cannot be the name of a member"},
    {"null: x\n", "line 1, column 1: null cannot be the name of a member"},
    {": x\n", "line 1, column 1: expected a name before ':'"},
    {"a: .inf\n", "line 1, column 4: .inf has no JSON form"},
    {"a: .nan\n", "line 1, column 4: .nan has no JSON form"},
    {"a: !!str 5\nb: !!int \"5\"\nc: !!float 5\nd: !!bool yes\ne: !!binary aGk=\nf: !foo 5\ng: ! 5\nh: !!null x\n", "line 8, column 11: x is no !!null"},
    {"a: !!int abc\n", "line 1, column 10: abc is no !!int"},
    {"b:\n  <<: 5\n", "line 2, column 3: '<<' takes an object or a list of objects"},
    {"a: 1\na: 2\n", "line 2, column 1: 'a' occurs twice in the same object"},
    {"{a: 1, a: 2}\n", "line 1, column 8: 'a' occurs twice in the same object"},
    {"a: &x [*x]\n", "line 1, column 8: the anchor 'x' contains itself"},
    {"a: *x\n", "line 1, column 4: unknown anchor 'x'"},
    {"a:\n\tb: 1\n", "line 2, column 1: a tab cannot be used for indentation"},
    {"a: b\n\t\nc: d\n", "line 2, column 1: a tab cannot be used for indentation"},
    {"a: b: c\n", "line 1, column 5: unexpected ':' (quote a value that contains ': ', or check the indentation)"},
    {"a: - b\n", "line 1, column 4: a list cannot start on this line"},
    {"? [a]\n: b\n", "line 1, column 1: a list cannot be the name of a member"},
    {"{a: b}: c\n", "line 1, column 1: a list or an object cannot be the name of a member"},
    {"a: |\n    x\n  y\n", "line 3, column 3: this line is indented further than those it follows"},
    {"a: |\n  \tx\n", "line 2, column 3: a tab cannot be used for indentation"},
    {"%YAML 2.0\n---\na: 1\n", "line 1, column 1: this version of YAML is not known"},
    {"--- a: b\n", "line 1, column 6: unexpected ':' (quote a value that contains ': ', or check the indentation)"},
    {"--- - a\n", "line 1, column 5: a list cannot start on this line"},
    {"a: 'b' c\n", "line 1, column 8: unexpected text after a value"},
    {"a: [b] c\n", "line 1, column 8: unexpected text after a value"},
    {"a: @x\n", "line 1, column 4: a value cannot start with '@'"},
    {"a: `x\n", "line 1, column 4: a value cannot start with '`'"},
    {"a: %x\n", "line 1, column 4: a value cannot start with '%'"},
    {"%x: 1\n", "line 1, column 1: unknown directive"},
    {"a: -\n", "line 1, column 4: a list cannot start on this line"},
    {"- ?\n", "line 1, column 3: null cannot be the name of a member"},
    {"- :\n", "line 1, column 3: expected a name before ':'"},
    {"a: [?x, :x, -x]\n", "line 1, column 9: expected a value"},
    {"a: [x?y, x:y, x-]\n", "line 1, column 6: expected ',' or ']'"},
    {"a: \"\\q\"\n", "line 1, column 5: unknown escape in a quoted string"},
    {"&a a: &b c\nd: *b\n*a : e\n", "line 3, column 1: 'a' occurs twice in the same object"},
    {"a: b\n c: d\n", "line 2, column 3: unexpected ':' (quote a value that contains ': ', or check the indentation)"},
    {"a:\n  b: c\n d: e\n", "line 3, column 2: this line is indented further than those it follows"},
    {"a:\n    b: c\n  d: e\n", "line 3, column 3: this line is indented further than those it follows"},
    {"- a\nb: c\n", "line 2, column 1: expected '-' before the next entry of the list"},
    {"a: b\n- c\n", "line 2, column 1: an entry of a list among the members of an object"},
    {"a: \"x\n---\ny\"\n", "line 2, column 1: a document ends inside a quoted string"},
    {"a: {b: c\n", "line 1, column 4: the bracket that opens here is not closed"},
    {"a: [b,,c]\n", "line 1, column 7: expected a value"},
    {"a: {,}\n", "line 1, column 5: expected a value"},
    {"a: ]\n", "line 1, column 4: a value cannot start with ']'"},
    {"a: \001\n", "line 1, column 4: control characters are not allowed"},
    {"a: \177\n", "line 1, column 4: control characters are not allowed"},
    {"a\nb: c\n", "line 2, column 2: unexpected ':' (quote a value that contains ': ', or check the indentation)"},
    {"\"a\nb\": c\n", "line 2, column 3: unexpected ':' (quote a value that contains ': ', or check the indentation)"},
    {"a: - \n", "line 1, column 4: a list cannot start on this line"},
    {"a: |x\n", "line 1, column 5: expected a comment or the end of the line"},
    {"a: !!binary \"###\"\n", "line 1, column 13: !!binary holds something else than text in base64"},
    {"?\n: a\n", "line 1, column 1: null cannot be the name of a member"},
    {"{a: b c: d}\n", "line 1, column 8: expected ',' or '}'"},
    {"- a: b\n  c: d\n -  e\n", "line 3, column 2: this line is indented further than those it follows"},
    {"a: x\n # c\n y\n", "line 3, column 2: this line is indented further than those it follows"},
    {"a: 0x\nb: 0b\nc: 0o\nd: 0_1\ne: 0xg\nf: -0x1F\ng: -0755\nh: 00\n i: 1\n", "line 9, column 3: unexpected ':' (quote a value that contains ': ', or check the indentation)"},
    {"f: !!int 5.5\n", "line 1, column 10: 5.5 is no !!int"},
    {"f: !!int ''\n", "line 1, column 10:  is no !!int"},
    {"a:\t- b\n", "line 1, column 4: a list cannot start on this line"},
    {"a: &x &y b\n", "line 1, column 7: a second anchor for the same value"},
    {"a: *x b\n", "line 1, column 4: unknown anchor 'x'"},
    {"a: &x b\nc: *x:\n", "line 2, column 6: unexpected ':' (quote a value that contains ': ', or check the indentation)"},
    {"a: |0\n x\n", "line 1, column 5: the indentation of a block scalar is 1 to 9"},
    {"a: |12\n x\n", "line 1, column 6: expected a comment or the end of the line"},
    {"[a: b: c]\n", "line 1, column 6: expected ',' or ']'"},
    {"[: b]\n", "line 1, column 2: expected a value"},
    {"{: b}\n", "line 1, column 2: expected a value"},
    {"[a\n: b]\n", "line 2, column 1: a name and its ':' must be on one line"},
    {"[a\n b: c]\n", "line 2, column 3: a name and its ':' must be on one line"},
    {"{a\n: b}\n", "line 2, column 1: a name and its ':' must be on one line"},
    {"{a\n b: c}\n", "line 2, column 3: a name and its ':' must be on one line"},
    {"a: ? b\n", "line 1, column 4: an object cannot start on this line"},
    {"? a : b\n", "line 1, column 1: an object cannot be the name of a member"},
    {"? - a\n: b\n", "line 1, column 1: a list cannot be the name of a member"},
    {"'a': 'b' : c\n", "line 1, column 10: unexpected ':' (quote a value that contains ': ', or check the indentation)"},
    {"- [a, [b]]: c\n", "line 1, column 3: a list or an object cannot be the name of a member"},
    {"a:  |\n\n  \n   x\n  y\n", "line 5, column 3: this line is indented further than those it follows"},
    {"a: |\n   \n  x\n", "line 3, column 3: this line is indented further than those it follows"},
    {"a: \"\\ud800\"\n", "line 1, column 5: an escape that is no character"},
    {"a: !!float .inf\n", "line 1, column 12: .inf has no JSON form"},
    // clang-format on
};

TEST(yaml, refuses_with_line_and_column) {
    for (const auto& [yaml, message] : refusals) {
        arena memory;
        const auto list = parse_yaml_stream(memory, yaml);
        ASSERT_FALSE(list) << yaml << "\n" << to_json(list->empty() ? ref{} : list->front().value);
        EXPECT_EQ(list.error().message, message) << yaml;
    }
}

}  // namespace
}  // namespace cotrain::api
