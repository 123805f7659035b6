// YAML that sigs.k8s.io/yaml refuses, and what we say about it.
#include <gtest/gtest.h>

#include "support/documents.hpp"

namespace cotrain::doc {
namespace {

struct refusal {
    std::string_view yaml;
    std::string_view message;
};

constexpr refusal refusals[] = {
    // clang-format off
    {"~: 1\n", "line 1, column 1: null cannot be the name of a member"},
    {"null: x\n", "line 1, column 1: null cannot be the name of a member"},
    {": x\n", "line 1, column 1: did not find expected key while parsing a block mapping"},
    {"a: .inf\n", "line 1, column 4: .inf has no JSON form"},
    {"a: .nan\n", "line 1, column 4: .nan has no JSON form"},
    {"a: !!str 5\nb: !!int \"5\"\nc: !!float 5\nd: !!bool yes\ne: !!binary aGk=\nf: !foo 5\ng: ! 5\nh: !!null x\n", "line 8, column 4: x is no !!null"},
    {"a: !!int abc\n", "line 1, column 4: abc is no !!int"},
    {"b:\n  <<: 5\n", "line 2, column 3: '<<' takes an object or a list of objects"},
    {"a: &x [*x]\n", "line 1, column 8: the anchor 'x' contains itself"},
    {"a: *x\n", "line 1, column 4: unknown anchor 'x'"},
    {"a:\n\tb: 1\n", "line 2, column 1: found character that cannot start any token while scanning for the next token"},
    {"a: b\n\t\nc: d\n", "line 2, column 1: found a tab character that violates indentation while scanning a plain scalar that starts at line 1, column 4"},
    {"a: b: c\n", "line 1, column 5: mapping values are not allowed in this context"},
    {"a: - b\n", "line 1, column 4: block sequence entries are not allowed in this context"},
    {"? [a]\n: b\n", "line 1, column 3: a list cannot be the name of a member"},
    {"{a: b}: c\n", "line 1, column 1: an object cannot be the name of a member"},
    {"a: |\n    x\n  y\n", "line 3, column 3: did not find expected key while parsing a block mapping that starts at line 1, column 1"},
    {"a: |\n  \tx\n", "line 2, column 3: found a tab character where an indentation space is expected while scanning a block scalar that starts at line 1, column 4"},
    {"%YAML 2.0\n---\na: 1\n", "line 1, column 1: found incompatible YAML document"},
    {"--- a: b\n", "line 1, column 6: mapping values are not allowed in this context"},
    {"--- - a\n", "line 1, column 5: block sequence entries are not allowed in this context"},
    {"a: 'b' c\n", "line 1, column 8: did not find expected key while parsing a block mapping"},
    {"a: [b] c\n", "line 1, column 8: did not find expected key while parsing a block mapping"},
    {"a: @x\n", "line 1, column 4: found character that cannot start any token while scanning for the next token"},
    {"a: `x\n", "line 1, column 4: found character that cannot start any token while scanning for the next token"},
    {"a: %x\n", "line 1, column 4: found character that cannot start any token while scanning for the next token"},
    {"%x: 1\n", "line 1, column 3: found unexpected non-alphabetical character while scanning a directive"},
    {"a: -\n", "line 1, column 4: block sequence entries are not allowed in this context"},
    {"- ?\n", "line 1, column 4: null cannot be the name of a member"},
    {"- :\n", "line 1, column 3: did not find expected key while parsing a block mapping"},
    {"a: [?x, :x, -x]\n", "line 1, column 9: did not find expected node content while parsing a flow node"},
    {"a: \"\\q\"\n", "line 1, column 5: found unknown escape character while parsing a quoted scalar"},
    {"a: b\n c: d\n", "line 2, column 3: mapping values are not allowed in this context"},
    {"a:\n  b: c\n d: e\n", "line 3, column 2: did not find expected key while parsing a block mapping that starts at line 1, column 1"},
    {"a:\n    b: c\n  d: e\n", "line 3, column 3: did not find expected key while parsing a block mapping that starts at line 1, column 1"},
    {"- a\nb: c\n", "line 2, column 1: did not find expected '-' indicator while parsing a block collection that starts at line 1, column 1"},
    {"a: b\n- c\n", "line 2, column 1: did not find expected key while parsing a block mapping that starts at line 1, column 1"},
    {"a: \"x\n---\ny\"\n", "line 2, column 1: found unexpected document indicator while scanning a quoted scalar that starts at line 1, column 4"},
    {"a: {b: c\n", "line 2, column 1: did not find expected ',' or '}' while parsing a flow mapping that starts at line 1, column 4"},
    {"a: [b,,c]\n", "line 1, column 7: did not find expected node content while parsing a flow node"},
    {"a: {,}\n", "line 1, column 5: did not find expected node content while parsing a flow node"},
    {"a: ]\n", "line 1, column 4: did not find expected node content while parsing a block node"},
    {"a: \001\n", "line 1, column 4: control characters are not allowed"},
    {"a: \177\n", "line 1, column 4: control characters are not allowed"},
    {"a\nb: c\n", "line 2, column 2: mapping values are not allowed in this context"},
    {"\"a\nb\": c\n", "line 2, column 3: mapping values are not allowed in this context"},
    {"a: - \n", "line 1, column 4: block sequence entries are not allowed in this context"},
    {"a: |x\n", "line 1, column 5: did not find expected comment or line break while scanning a block scalar"},
    {"a: !!binary \"###\"\n", "line 1, column 4: !!binary holds something else than text in base64"},
    {"?\n: a\n", "line 1, column 2: null cannot be the name of a member"},
    {"{a: b c: d}\n", "line 1, column 8: did not find expected ',' or '}' while parsing a flow mapping"},
    {"- a: b\n  c: d\n -  e\n", "line 3, column 2: did not find expected '-' indicator while parsing a block collection that starts at line 1, column 1"},
    {"a: x\n # c\n y\n", "line 3, column 2: did not find expected key while parsing a block mapping that starts at line 1, column 1"},
    {"a: 0x\nb: 0b\nc: 0o\nd: 0_1\ne: 0xg\nf: -0x1F\ng: -0755\nh: 00\n i: 1\n", "line 9, column 3: mapping values are not allowed in this context"},
    {"f: !!int 5.5\n", "line 1, column 4: 5.5 is no !!int"},
    {"f: !!int ''\n", "line 1, column 4:  is no !!int"},
    {"a:\t- b\n", "line 1, column 4: block sequence entries are not allowed in this context"},
    {"a: &x &y b\n", "line 1, column 7: did not find expected key while parsing a block mapping"},
    {"a: *x b\n", "line 1, column 4: unknown anchor 'x'"},
    {"a: &x b\nc: *x:\n", "line 2, column 6: mapping values are not allowed in this context"},
    {"a: |0\n x\n", "line 1, column 5: found an indentation indicator equal to 0 while scanning a block scalar"},
    {"a: |12\n x\n", "line 1, column 6: did not find expected comment or line break while scanning a block scalar"},
    {"[a: b: c]\n", "line 1, column 6: did not find expected ',' or ']' while parsing a flow sequence"},
    {"[: b]\n", "line 1, column 2: did not find expected node content while parsing a flow node"},
    {"{: b}\n", "line 1, column 2: did not find expected node content while parsing a flow node"},
    {"[a\n: b]\n", "line 2, column 1: did not find expected ',' or ']' while parsing a flow sequence that starts at line 1, column 1"},
    {"[a\n b: c]\n", "line 2, column 3: did not find expected ',' or ']' while parsing a flow sequence that starts at line 1, column 1"},
    {"{a\n: b}\n", "line 2, column 1: did not find expected ',' or '}' while parsing a flow mapping that starts at line 1, column 1"},
    {"{a\n b: c}\n", "line 2, column 3: did not find expected ',' or '}' while parsing a flow mapping that starts at line 1, column 1"},
    {"a: ? b\n", "line 1, column 4: mapping keys are not allowed in this context"},
    {"? a : b\n", "line 1, column 3: an object cannot be the name of a member"},
    {"? - a\n: b\n", "line 1, column 3: a list cannot be the name of a member"},
    {"'a': 'b' : c\n", "line 1, column 10: mapping values are not allowed in this context"},
    {"- [a, [b]]: c\n", "line 1, column 3: a list cannot be the name of a member"},
    {"a:  |\n\n  \n   x\n  y\n", "line 5, column 3: did not find expected key while parsing a block mapping that starts at line 1, column 1"},
    {"a: |\n   \n  x\n", "line 3, column 3: did not find expected key while parsing a block mapping that starts at line 1, column 1"},
    {"a: \"\\ud800\"\n", "line 1, column 7: found invalid Unicode character escape code while parsing a quoted scalar"},
    {"a: !!float .inf\n", "line 1, column 4: .inf has no JSON form"},
    {"a: b\n...\nc\n", "line 3, column 1: this belongs to nothing above: check the indentation, or put '---' between documents"},
    {"a: \"\\ud83d\\ude00\"\n", "line 1, column 7: found invalid Unicode character escape code while parsing a quoted scalar"},
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
}  // namespace cotrain::doc
