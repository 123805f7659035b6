// Which JobSets get a second owner, and for what.
#include "app/hand_back/hand_back.hpp"

#include <gtest/gtest.h>

#include <string>

#include "doc/json.hpp"

namespace cotrain::app {
namespace {

const std::string owner =
    R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"j","controller":true})";
const std::string manager = R"({"manager":"trainer","operation":"Apply","fieldsV1":{"f:spec":{"f:suspend":{},
    "f:replicatedJobs":{"k:{\"name\":\"launcher\"}":{".":{},"f:name":{},"f:template":{"f:spec":{"f:template":{
        "f:metadata":{"f:labels":{"f:l":{}}},
        "f:spec":{"f:nodeSelector":{"f:n":{}},"f:containers":{"k:{\"name\":\"node\"}":{".":{},"f:name":{},
            "f:env":{"k:{\"name\":\"PRTE_MCA_x\"}":{".":{},"f:name":{},"f:value":{}}}}}}}}}}}}}})";

hand_back plan(const std::string& more_meta, const std::string& managers, const std::string& owners,
               const std::string& status = "{}") {
    doc::arena memory;
    const auto job_set =
        doc::parse_json_copy(memory, R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{)" +
                                         more_meta + R"("namespace":"ns","name":"j","uid":"u","ownerReferences":[)" +
                                         owners + R"(],"managedFields":[)" + managers +
                                         R"(]},"spec":{"suspend":true,"network":{"subdomain":"j"},"replicatedJobs":[
            {"name":"launcher","replicas":1,"template":{"spec":{"completionMode":"Indexed","template":{
                "metadata":{"labels":{"l":"1"}},"spec":{"restartPolicy":"OnFailure","nodeSelector":{"n":"1"},
                "containers":[{"name":"node","image":"i","env":[{"name":"PRTE_MCA_x","value":"1"}]}]}}}}}]},
            "status":)" + status + "}");
    return plan_hand_back(*job_set);
}

TEST(hand_back, owns_what_was_applied_and_cannot_change) {
    const hand_back out = plan("", manager, owner);
    EXPECT_EQ(out.need, hand_back_need::some);
    EXPECT_EQ(
        out.apply,
        R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"namespace":"ns","name":"j",)"
        R"("uid":"u"},"spec":{"replicatedJobs":[{"name":"launcher","template":{"spec":{"template":{)"
        R"("metadata":{},"spec":{"containers":[{"name":"node","env":[{"name":"PRTE_MCA_x","value":"1"}]}]}}}}}]}})");
}

TEST(hand_back, is_done_once) {
    const std::string second = R"(,{"manager":"cotrain","operation":"Apply","fieldsV1":{"f:spec":{}}})";
    EXPECT_EQ(plan("", manager + second, owner).need, hand_back_need::done);
}

TEST(hand_back, leaves_alone_what_is_over_or_somebody_elses) {
    const auto ended = [](const std::string& type) {
        return R"({"conditions":[{"type":")" + type + R"(","status":"True"}]})";
    };
    EXPECT_EQ(plan("", manager, owner, ended("Completed")).need, hand_back_need::none);
    EXPECT_EQ(plan("", manager, owner, ended("Failed")).need, hand_back_need::none);
    EXPECT_EQ(plan("", manager, owner, ended("Suspended")).need, hand_back_need::some);
    EXPECT_EQ(plan(R"("deletionTimestamp":"2026-01-01T00:00:00Z",)", manager, owner).need, hand_back_need::none);
    EXPECT_EQ(plan("", manager, "").need, hand_back_need::none);
    EXPECT_EQ(plan("", manager, R"({"apiVersion":"batch/v1","kind":"TrainJob","controller":true})").need,
              hand_back_need::none);
    EXPECT_EQ(plan("", R"({"manager":"kubectl","operation":"Apply","fieldsV1":{"f:spec":{}}})", owner).need,
              hand_back_need::none);
}

}  // namespace
}  // namespace cotrain::app
