// Objects that go into a text and come back from it.
#include "sim/cluster.hpp"

#include <gtest/gtest.h>

#include <string>

#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

constexpr base::seconds_time now{std::chrono::seconds{1'767'312'000}};

void make(cluster& in, std::string_view plural, std::string ns, std::string_view text) {
    doc::arena memory;
    const auto done =
        in.create({in.types().find("", "v1", plural), std::move(ns)}, *doc::parse_json(memory, text), {}, now);
    ASSERT_TRUE(done) << done.error().message;
}

TEST(snapshot, keeps_objects_and_their_identities) {
    cluster before{1};
    make(before, "namespaces", "", R"({"metadata":{"name":"ns"}})");
    make(before, "configmaps", "ns", R"({"metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"v"}})");
    const std::string text = write_snapshot(before);
    cluster after{2};
    ASSERT_TRUE(read_snapshot(after, text));
    const kind& maps = *after.types().find("", "v1", "configmaps");
    const record_ptr kept = after.objects().find(maps, "ns", "a");
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->uid, before.objects().find(*before.types().find("", "v1", "configmaps"), "ns", "a")->uid);
    EXPECT_EQ(kept->labels.size(), 1U);
    doc::arena memory;
    EXPECT_EQ(open(memory, *kept).get({"metadata", "resourceVersion"}).as_string(), std::to_string(kept->version));
    EXPECT_EQ(open(memory, *kept).get({"data", "k"}).as_string(), "v");
    make(after, "configmaps", "ns", R"({"metadata":{"name":"b"}})");
}

TEST(snapshot, says_what_is_wrong_with_one) {
    const auto error = [](std::string_view text) {
        cluster into{1};
        const auto done = read_snapshot(into, text);
        return done ? std::string{} : done.error().message;
    };
    const std::string head = write_snapshot(cluster{1});
    EXPECT_NE(error("{}").find("line 1: this is no snapshot"), std::string::npos);
    EXPECT_NE(error(head + "{").find("line 2"), std::string::npos);
    EXPECT_NE(error(head + R"({"apiVersion":"x/v1","kind":"Y"})").find("line 2: Y of x/v1 is not known"),
              std::string::npos);
    EXPECT_NE(error(head + R"({"apiVersion":"v1","kind":"Namespace","metadata":{}})").find("without a name"),
              std::string::npos);
}

}  // namespace
}  // namespace cotrain::sim
