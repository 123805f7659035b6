// Protobuf as kubectl sends it.
#include "sim/protobuf.hpp"

#include <gtest/gtest.h>

#include <string>

#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

std::string bytes(int field, std::string_view value) {
    return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(value.size())} + std::string(value);
}
std::string body(std::string_view kind_name, std::string_view raw) {
    return std::string("k8s\0", 4) + bytes(1, bytes(1, "v1") + bytes(2, kind_name)) + bytes(2, raw) + bytes(3, "");
}

TEST(protobuf, becomes_the_document_that_json_would_be) {
    doc::arena memory;
    const std::string metadata = bytes(1, bytes(1, "a") + bytes(8, "") + bytes(11, bytes(1, "k") + bytes(2, "v")));
    const auto secret = read_protobuf(memory, body("Secret", metadata + bytes(2, bytes(1, "p") + bytes(2, "\x01\xff")) +
                                                                 bytes(3, "Opaque") + std::string{5 << 3, 1}));
    ASSERT_TRUE(secret) << secret.error();
    EXPECT_EQ(doc::to_json(*secret),
              R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","labels":{"k":"v"}},"data":{"p":"Af8="},)"
              R"("type":"Opaque","immutable":true})");
}

TEST(protobuf, refuses_what_it_cannot_read) {
    doc::arena memory;
    EXPECT_EQ(
        read_protobuf(memory, body("Deployment", "")).error(),
        "protobuf of a Deployment is not read by this server; JSON is: kubectl create ... --dry-run=client -o yaml | "
        "kubectl apply -f -");
    EXPECT_FALSE(read_protobuf(memory, "{}"));
    const std::string whole = body("ConfigMap", bytes(1, bytes(1, "name")));
    for (std::size_t n = 5; n < whole.size(); ++n) (void)read_protobuf(memory, whole.substr(0, n));
    EXPECT_FALSE(read_protobuf(memory, body("ConfigMap", "\x0a\x7f")));
}

}  // namespace
}  // namespace cotrain::sim
