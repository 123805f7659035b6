// JobSets whose templates cannot be changed any more: what of a plan reaches them nevertheless.
#include "reconcile/job_set_templates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doc/json.hpp"
#include "trainjob_world.hpp"

namespace cotrain::reconcile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view train_job = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job, namespace: ns, uid: 11111111-0000-4000-8000-000000000001}
spec:
  suspend: true
  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: rt}
)";
constexpr const char* job = "TrainJob ns/job";
constexpr const char* set = "JobSet ns/job";

// A JobSet that another controller made: its webhook refuses the first apply of each reconcile.
struct trainjob_templates_test : testing::Test {
    trainjob_world w;
    int applies = 0;

    void SetUp() override {
        w.apply_yaml(torch_runtime);
        w.apply_yaml(train_job);
        w.settle();
        w.patch(set, R"({"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{
            "containers":[{"name":"node","image":"i","env":[{"name":"THEIRS","value":"1"}]}]}}}}}]},
            "metadata":{"managedFields":[{"manager":"trainer","operation":"Apply","fieldsV1":{"f:spec":{
            "f:replicatedJobs":{},"f:suspend":{}}}}]}})");
        w.patch("ConfigMap ns/job-runtime-snapshot", R"({"immutable":null})");  // theirs are not
        w.deliver();
        w.restart();
        w.taken();
        w.events.clear();
        w.on_apply = [this] {
            w.refusals.clear();
            if (applies++ % 2 == 0) refuse();
        };
    }
    void refuse() {
        base::error invalid = base::make_error(base::errc::status, "422 Invalid: field is immutable");
        invalid.http_status = 422;
        w.refusals["apply JobSet ns/job"] = invalid;
    }
    void resume() {
        w.patch(job, R"({"spec":{"suspend":false}})");
        w.settle();
    }
};

TEST_F(trainjob_templates_test, a_jobset_of_another_controller_resumes_as_it_was_made) {
    resume();
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":false"));
    EXPECT_THAT(w.objects[set], HasSubstr("THEIRS"));
    EXPECT_THAT(w.objects[set], Not(HasSubstr("PET_NNODES")));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
    EXPECT_THAT(w.events, Contains(HasSubstr("JobSetKept")));
}

TEST_F(trainjob_templates_test, what_was_kept_is_not_tried_again_while_nothing_changes) {
    w.run_job();
    EXPECT_THAT(w.taken(), ElementsAre("get ConfigMap ns/job-runtime-snapshot", "apply JobSet ns/job",
                                       "get JobSet ns/job", "apply JobSet ns/job"));
    w.settle();
    w.run_job();
    EXPECT_THAT(w.taken(), IsEmpty());
}

// Whether a job says that it cannot be as its newest patch wants it.
struct trainjob_templates_patch_test : trainjob_templates_test {
    std::string ready_after(const std::string& spec) {
        w.patch(job, R"({"spec":{"runtimePatches":[{"manager":"a.test/b","time":"2099-01-01T00:00:00Z",
            "trainingRuntimeSpec":)" +
                         spec + "}]}}");
        w.settle();
        return w.condition("ResourcesReady");
    }
    std::string ready_after_pod(const std::string& pod, const std::string& beside = {}) {
        return ready_after(R"({"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{)" + beside +
                           R"("template":)" + pod + "}}}]}}}");
    }
};

TEST_F(trainjob_templates_patch_test, says_that_a_container_cannot_change) {
    EXPECT_EQ(ready_after_pod(R"({"spec":{"containers":[{"name":"node","image":"new"}]}})"), "False");
}
TEST_F(trainjob_templates_patch_test, says_that_a_job_cannot_change) {
    EXPECT_EQ(ready_after_pod(R"({"spec":{"nodeSelector":{"a":"b"}}})", R"("backoffLimit":3,)"), "False");
}
TEST_F(trainjob_templates_patch_test, does_what_kueue_asks_for) {
    EXPECT_EQ(ready_after_pod(R"({"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}},
        "spec":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"k"}],"schedulingGates":[{"name":"g"}]}})"),
              "-");
}
TEST_F(trainjob_templates_patch_test, labels_the_jobset) {
    EXPECT_EQ(ready_after(R"({"template":{"metadata":{"labels":{"a":"b"}}}})"), "-");
}

// As the API server stores it: `trainer` applied one job's name and Pod, webhook and defaults filled in the rest.
constexpr std::string_view found_set =
    R"({"kind":"JobSet","metadata":{"name":"n","resourceVersion":"1","managedFields":[
    {"manager":"trainer","operation":"Apply","fieldsV1":{"f:metadata":{"f:labels":{"f:l":{}}},"f:spec":{"f:suspend":{},
     "f:replicatedJobs":{"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:template":{"f:spec":{"f:template":{"f:spec":{
       "f:tolerations":{},"f:containers":{"k:{\"name\":\"node\"}":{".":{},"f:name":{},"f:image":{}}}}}}}}}}}}]},
    "spec":{"suspend":true,"network":{"enableDNSHostnames":true},"successPolicy":{"operator":"All"},"replicatedJobs":[
      {"name":"a","template":{"spec":{"template":{"spec":{"containers":[]}}}}},
      {"name":"b","replicas":2,"groupName":"default","template":{"spec":{"completionMode":"Indexed","template":{
        "spec":{"tolerations":[{"key":"k"}],"restartPolicy":"OnFailure","containers":[
          {"name":"node","image":"old","resources":{}}]}}}}}]},"status":{"a":1}})";

TEST(with_templates_of_test, applies_what_was_applied_with_what_may_change_from_the_plan) {
    const std::string kept = with_templates_of(
        R"({"apiVersion":"v","kind":"JobSet","metadata":{"name":"n"},"spec":{"suspend":false,"replicatedJobs":[
           {"name":"b","template":{"spec":{"template":{"metadata":{"labels":{"l":"1"}},
            "spec":{"nodeSelector":{"disk":"ssd"},"containers":[{"name":"node","image":"new"}]}}}}}]}})",
        found_set);
    EXPECT_EQ(kept,
              R"({"apiVersion":"v","kind":"JobSet","metadata":{"name":"n"},"spec":{"suspend":false,"replicatedJobs":[)"
              R"({"name":"b","template":{"spec":{"template":{"spec":{"containers":[{"name":"node","image":"old"}],)"
              R"("nodeSelector":{"disk":"ssd"}},"metadata":{"labels":{"l":"1"}}}}}}]}})");
}

TEST(with_templates_of_test, claims_no_more_than_the_change_where_nothing_was_applied) {
    EXPECT_EQ(
        with_templates_of(
            R"({"apiVersion":"v","kind":"JobSet","metadata":{"name":"n"},"spec":{"suspend":false,"replicatedJobs":[
           {"name":"b","template":{"spec":{"template":{"spec":{"nodeSelector":{"disk":"ssd"},"containers":[]}}}}}]}})",
            R"({"kind":"JobSet","spec":{"replicatedJobs":[{"name":"b","replicas":1}]}})"),
        R"({"apiVersion":"v","kind":"JobSet","metadata":{"name":"n"},"spec":{"suspend":false,"replicatedJobs":[)"
        R"({"name":"b","template":{"spec":{"template":{"spec":{"nodeSelector":{"disk":"ssd"}}}}}}]}})");
    EXPECT_EQ(with_templates_of("{}", "{}"), "");
    EXPECT_EQ(with_templates_of("", "{"), "");
}

TEST(applied_fixed_jobs_test, are_jobs_as_applied_without_what_may_change) {
    doc::arena memory;
    EXPECT_EQ(
        doc::to_json(applied_fixed_jobs(memory, *doc::parse_json_copy(memory, found_set))),
        R"([{"name":"b","template":{"spec":{"template":{"spec":{"containers":[{"name":"node","image":"old"}]}}}}}])");
    EXPECT_FALSE(applied_fixed_jobs(memory, doc::ref::empty_object()));
}

}  // namespace
}  // namespace cotrain::reconcile
