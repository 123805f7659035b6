// Merge patch, JSON patch and strategic merge patch.
#include "sim/patch.hpp"

#include <gtest/gtest.h>

#include "doc/json.hpp"
#include "sim/kind.hpp"

namespace cotrain::sim {
namespace {

struct patch_case {
    const char* document;
    const char* patch;
    const char* result;  // null: refused
};

std::string sorted(doc::ref document) {
    std::string out;
    doc::append_sorted_json(out, document);
    return out;
}

TEST(patch, merges_as_rfc_7386_says) {
    for (const patch_case& each : {
             patch_case{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
             patch_case{R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
             patch_case{R"({"a":["b"]})", R"({"a":["c"]})", R"({"a":["c"]})"},
             patch_case{R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
             patch_case{R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
         }) {
        doc::arena memory;
        EXPECT_EQ(
            sorted(merge_patch(memory, *doc::parse_json(memory, each.document), *doc::parse_json(memory, each.patch))),
            each.result);
    }
}

TEST(patch, performs_the_operations_of_rfc_6902) {
    for (const patch_case& each : {
             patch_case{R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
             patch_case{R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
             patch_case{R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
             patch_case{R"({"a":[1]})", R"([{"op":"add","path":"/a/3","value":2}])", nullptr},
             patch_case{R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
             patch_case{R"({"a":1})", R"([{"op":"remove","path":"/b"}])", nullptr},
             patch_case{R"({"a/b":{"c~d":1}})", R"([{"op":"replace","path":"/a~1b/c~0d","value":2}])",
                        R"({"a/b":{"c~d":2}})"},
             // Not as the RFC has it, but as the API server does.
             patch_case{R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])", R"({"a":1,"b":2})"},
             patch_case{R"({"a":1})", R"([{"op":"replace","path":"/b/c","value":2}])", nullptr},
             patch_case{R"({"a":[1]})", R"([{"op":"replace","path":"/a/1","value":2}])", nullptr},
             patch_case{R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])", R"({"a":{},"c":1})"},
             patch_case{R"({"a":1})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":1,"b":1})"},
             patch_case{R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])", R"({"a":1})"},
             patch_case{R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", nullptr},
             patch_case{R"({"a":1})", R"([{"op":"grow","path":"/a"}])", nullptr},
             patch_case{R"({"a":1})", R"({"op":"remove","path":"/a"})", nullptr},
             patch_case{R"({"a":1})", R"([{"op":"remove","path":"a"}])", nullptr},
         }) {
        doc::arena memory;
        const auto result =
            json_patch(memory, *doc::parse_json(memory, each.document), *doc::parse_json(memory, each.patch));
        ASSERT_EQ(result.has_value(), each.result != nullptr) << each.patch;
        if (result) {
            EXPECT_EQ(sorted(*result), each.result) << each.patch;
        }
    }
}

TEST(patch, copies_of_copies_have_a_bound) {
    std::string operations = "[";
    for (int i = 0; i < 40; ++i) {
        operations += operations.size() > 1 ? "," : "";
        operations += R"({"op":"copy","from":"/a","path":"/a/-"})";
    }
    doc::arena memory;
    const doc::ref document = *doc::parse_json(memory, R"({"a":["some text"]})");
    const auto result = json_patch(memory, document, *doc::parse_json_copy(memory, operations + "]"));
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().too_large);
    EXPECT_LT(memory.bytes_used(), 64UL * 1024 * 1024);
}

TEST(patch, merges_lists_by_the_schemas_keys) {
    const kinds types;
    const kind* const map = types.find("", "v1", "configmaps");
    for (const patch_case& each : {
             patch_case{R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":["b","a"]}})",
                        R"({"metadata":{"finalizers":["b","a"]}})"},
             patch_case{R"({"metadata":{"finalizers":["a","b"]}})",
                        R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})",
                        R"({"metadata":{"finalizers":["b"]}})"},
             patch_case{R"({"metadata":{"ownerReferences":[{"uid":"1","name":"a"},{"uid":"2","name":"b"}]}})",
                        R"({"metadata":{"ownerReferences":[{"uid":"2","$patch":"delete"},{"uid":"1","kind":"K"}]}})",
                        R"({"metadata":{"ownerReferences":[{"kind":"K","name":"a","uid":"1"}]}})"},
             patch_case{R"({"data":{"a":"1","b":"2"}})", R"({"data":{"$patch":"replace","c":"3"}})",
                        R"({"data":{"c":"3"}})"},
             patch_case{R"({"data":{"a":"1","b":"2"}})", R"({"data":{"$retainKeys":["a","c"],"c":"3"}})",
                        R"({"data":{"a":"1","c":"3"}})"},
             patch_case{R"({"data":{"a":"1"}})", R"({"data":{"$patch":"explode"}})", nullptr},
         }) {
        doc::arena memory;
        const auto result = strategic_patch(memory, map->merged.get(), *doc::parse_json(memory, each.document),
                                            *doc::parse_json(memory, each.patch));
        ASSERT_EQ(result.has_value(), each.result != nullptr) << each.patch;
        if (result) {
            EXPECT_EQ(sorted(*result), each.result) << each.patch;
        }
    }
}

}  // namespace
}  // namespace cotrain::sim
