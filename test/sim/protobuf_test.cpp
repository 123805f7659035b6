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

std::string number(int field, int value) { return {static_cast<char>(field << 3), static_cast<char>(value)}; }

// What is empty and always on the wire is left out; what is empty on purpose is not.
TEST(protobuf, reads_what_pods_are_made_of) {
    doc::arena memory;
    const std::string limit = bytes(1, "cpu") + bytes(2, bytes(1, "100m"));
    const std::string probe =
        bytes(1, bytes(2, bytes(1, "/x") + bytes(2, number(1, 1) + number(2, 0) + bytes(3, "http"))));
    const std::string container = bytes(1, "c") + bytes(2, "") + bytes(8, bytes(1, limit)) + bytes(10, probe);
    const std::string volume = bytes(1, "v") + bytes(2, bytes(6, bytes(1, "s")));
    const std::string spec = bytes(1, volume) + bytes(2, container) + number(4, 7) + number(11, 0) + bytes(10, "");
    const auto pod =
        read_protobuf(memory, body("Pod", bytes(1, bytes(1, "p") + bytes(8, number(1, 0))) + bytes(2, spec)));
    ASSERT_TRUE(pod) << pod.error();
    EXPECT_EQ(doc::to_json(*pod),
              R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"volumes":[{"name":"v","secret":)"
              R"({"secretName":"s"}}],"containers":[{"name":"c","resources":{"limits":{"cpu":"100m"}},"livenessProbe":)"
              R"({"httpGet":{"path":"/x","port":"http"}}}],"terminationGracePeriodSeconds":7}})");
}

TEST(protobuf, reads_times_and_options) {
    doc::arena memory;
    const auto options = read_protobuf(memory, body("DeleteOptions", number(1, 0) + bytes(4, "Orphan")));
    ASSERT_TRUE(options) << options.error();
    EXPECT_EQ(doc::to_json(*options),
              R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,"propagationPolicy":"Orphan"})");
    const std::string made = body("Lease", bytes(2, bytes(1, "me") + bytes(4, number(1, 60) + number(2, 0))));
    EXPECT_FALSE(read_protobuf(memory, made)) << "a Lease is of no group v1";
}

TEST(protobuf, refuses_what_it_cannot_read) {
    doc::arena memory;
    EXPECT_EQ(read_protobuf(memory, body("Widget", "")).error(),
              "protobuf of a Widget is not read by this server; JSON is: kubectl create ... --dry-run=client -o yaml | "
              "kubectl apply -f -");
    EXPECT_FALSE(read_protobuf(memory, "{}"));
    const std::string whole = body("ConfigMap", bytes(1, bytes(1, "name")));
    for (std::size_t n = 5; n < whole.size(); ++n) (void)read_protobuf(memory, whole.substr(0, n));
    EXPECT_FALSE(read_protobuf(memory, body("ConfigMap", "\x0a\x7f")));
}

}  // namespace
}  // namespace cotrain::sim
