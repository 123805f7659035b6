// What of an object somebody applied.
#include "api/managed_fields.hpp"

#include <gtest/gtest.h>

#include "doc/json.hpp"

namespace cotrain::api {
namespace {

std::string owned(std::string_view document, std::string_view fields) {
    doc::arena memory;
    return doc::to_json(
        owned_part(memory, *doc::parse_json_copy(memory, document), *doc::parse_json_copy(memory, fields)));
}

TEST(managed_fields, finds_what_a_manager_applied_to_the_object_itself) {
    doc::arena memory;
    const doc::ref object = *doc::parse_json_copy(memory, R"({"metadata":{"managedFields":[
        {"manager":"trainer","operation":"Update","fieldsV1":{"f:update":{}}},
        {"manager":"trainer","operation":"Apply","subresource":"status","fieldsV1":{"f:status":{}}},
        {"manager":"other","operation":"Apply","fieldsV1":{"f:other":{}}},
        {"manager":"trainer","operation":"Apply","fieldsV1":{"f:spec":{}}}]}})");
    EXPECT_EQ(doc::to_json(applied_fields(object, "trainer")), R"({"f:spec":{}})");
    EXPECT_FALSE(applied_fields(object, "nobody"));
    EXPECT_FALSE(applied_fields(doc::ref::empty_object(), "trainer"));
}

TEST(managed_fields, leave_out_what_others_filled_in) {
    EXPECT_EQ(owned(R"({"suspend":true,"network":{"enableDNSHostnames":true},"ttl":null})",
                    R"({"f:suspend":{},"f:ttl":{},"f:gone":{}})"),
              R"({"suspend":true,"ttl":null})");
}

TEST(managed_fields, name_items_by_their_keys_and_keep_the_order_of_the_document) {
    EXPECT_EQ(owned(R"({"env":[{"name":"B","value":"2"},{"name":"THEIRS","value":"x"},{"name":"A","value":"1"}]})",
                    R"({"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}},
                                 "k:{\"name\":\"B\"}":{".":{},"f:name":{}}}})"),
              R"({"env":[{"name":"B"},{"name":"A","value":"1"}]})");
}

TEST(managed_fields, find_items_whose_keys_were_filled_in) {
    const std::string_view port = R"({"ports":[{"containerPort":29500,"protocol":"TCP"}]})";
    EXPECT_EQ(owned(port, R"({"f:ports":{"k:{\"containerPort\":29500,\"protocol\":\"TCP\"}":
                              {".":{},"f:containerPort":{}}}})"),
              R"({"ports":[{"containerPort":29500}]})");
    EXPECT_EQ(owned(port, R"({"f:ports":{"k:{\"containerPort\":29500,\"protocol\":\"TCP\"}":{".":{}}}})"),
              R"({"ports":[{"containerPort":29500,"protocol":"TCP"}]})");
}

TEST(managed_fields, tell_items_of_sets_and_take_atomic_lists_whole) {
    EXPECT_EQ(
        owned(R"({"set":["a","b",3],"command":["x","y"]})", R"({"f:set":{"v:\"b\"":{},"v:3":{}},"f:command":{}})"),
        R"({"set":["b",3],"command":["x","y"]})");
}

TEST(managed_fields, keep_what_is_owned_for_being_there) {
    EXPECT_EQ(owned(R"({"labels":{"theirs":"1"},"emptyDir":{}})", R"({"f:labels":{".":{}},"f:emptyDir":{}})"),
              R"({"labels":{},"emptyDir":{}})");
}

TEST(managed_fields, are_left_alone_where_they_make_no_sense) {
    EXPECT_EQ(owned(R"({"a":"text","list":[1]})", R"({"f:a":{"f:b":{}},"f:list":{"k:{":{},"i:0":{}},"x":{}})"),
              R"({"a":"text","list":[]})");
}

}  // namespace
}  // namespace cotrain::api
