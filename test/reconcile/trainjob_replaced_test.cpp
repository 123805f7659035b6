// Suspended JobSets of ours that are to have what JobSet does not change: they are made again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* group = "PodGroup.scheduling.x-k8s.io ns/job";

struct trainjob_replaced : trainjob_case {
    trainjob_replaced() { w.keeps_templates = true; }
    [[nodiscard]] std::string uid() const {
        doc::arena memory;
        return std::string(w.object(memory, set).get({"metadata", "uid"}).as_string());
    }
    [[nodiscard]] bool set_suspended() const {
        doc::arena memory;
        return w.object(memory, set).get({"spec", "suspend"}).as_bool(false);
    }
    // Nodes by JobSet, hostfile and PodGroup, which has the launcher, too.
    void expect_nodes(int count) {
        doc::arena memory;
        const auto nodes = w.object(memory, set).get({"spec", "replicatedJobs"}).find_by("name", "node");
        EXPECT_EQ(nodes.get({"template", "spec", "parallelism"}).as_int(), count);
        const std::string last = "job-node-0-" + std::to_string(count - 1) + ".job slots=1\\n\"}";
        EXPECT_THAT(w.objects[hostfile], HasSubstr(last));
        EXPECT_THAT(w.objects[group], HasSubstr("\"minMember\":" + std::to_string(count + 1)));
        EXPECT_EQ(w.condition("ResourcesReady"), "-");
    }
    void change(const std::string& spec) {
        w.patch(job, R"({"spec":{)" + spec + "}}");
        w.settle();
    }
    void active(int pods) {
        w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","active":)" + std::to_string(pods) + "}]}}");
        w.settle();
    }
};

TEST_F(trainjob_replaced, other_numbers_of_nodes_come_about_while_the_job_is_suspended) {
    begin(mpi_runtime, "  suspend: true\n");
    std::string before = uid();
    for (const int nodes : {4, 3, 5}) {
        if (nodes == 3) w.restart();
        change(R"("trainer":{"numNodes":)" + std::to_string(nodes) + "}");
        expect_nodes(nodes);
        EXPECT_TRUE(set_suspended());
        EXPECT_NE(uid(), before);
        EXPECT_THAT(w.events, Contains(HasSubstr("JobSetReplaced")));
        before = uid();
        w.events.clear();
    }
    change(R"("suspend":false)");
    EXPECT_EQ(uid(), before);
    EXPECT_FALSE(set_suspended());
    expect_nodes(5);
}

TEST_F(trainjob_replaced, with_its_resumption) {
    begin(mpi_runtime, "  suspend: true\n");
    const std::string before = uid();
    change(R"("suspend":false,"trainer":{"numNodes":4})");
    EXPECT_NE(uid(), before);
    EXPECT_FALSE(set_suspended());
    expect_nodes(4);
}

TEST_F(trainjob_replaced, with_its_suspension_once_its_pods_are_gone) {
    begin(mpi_runtime);
    active(2);
    const std::string before = uid();
    change(R"("suspend":true,"trainer":{"numNodes":4})");
    EXPECT_TRUE(set_suspended());
    EXPECT_EQ(w.condition("Suspended"), "True");
    active(1);
    EXPECT_EQ(uid(), before) << "a Pod is still there";
    active(0);
    EXPECT_NE(uid(), before);
    EXPECT_TRUE(set_suspended());
    expect_nodes(4);
}

TEST_F(trainjob_replaced, not_for_what_a_job_set_takes) {
    begin(mpi_runtime, "  suspend: true\n");
    const std::string before = uid();
    change(R"("runtimePatches":[{"manager":"a.b/c","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[
        {"name":"node","template":{"spec":{"template":{"spec":{"nodeSelector":{"disk":"ssd"}}}}}}]}}}}])");
    EXPECT_EQ(uid(), before);
    change(R"("suspend":false)");
    EXPECT_EQ(uid(), before);
    expect_nodes(2);
}

TEST_F(trainjob_replaced, not_for_what_is_refused_for_another_reason) {
    begin(mpi_runtime, "  suspend: true\n");
    const std::string before = uid();
    base::error e = base::make_error(base::errc::status, "422 Invalid: spec.replicatedJobs[0].name: too long");
    e.http_status = 422;
    w.refusals["apply JobSet ns/job"] = e;
    change(R"("trainer":{"numNodes":4})");
    EXPECT_EQ(uid(), before);
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
}

// JobSet calls the list of jobs invalid for other reasons, too: a new JobSet would have the same fault.
TEST_F(trainjob_replaced, not_for_another_fault_of_its_jobs) {
    begin(mpi_runtime, "  suspend: true\n");
    const std::string before = uid();
    base::error e = base::make_error(
        base::errc::status, "422 Invalid: spec.replicatedJobs: Invalid value: [{\"name\":\"N\"}]: must be a DNS label");
    e.http_status = 422;
    w.refusals["apply JobSet ns/job"] = e;
    change(R"("trainer":{"numNodes":4})");
    EXPECT_EQ(uid(), before);
    EXPECT_THAT(w.condition("ResourcesReady", "message"), HasSubstr("must be a DNS label"));
    w.refusals.clear();
    change(R"("trainer":{"numNodes":2})");
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
    // Where the end of the message is cut off, the templates tell.
    w.refusals["apply JobSet ns/job"] = immutable().error();
    w.taken();
    change(R"("runtimePatches":[{"manager":"a.b/c","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[
        {"name":"node","template":{"spec":{"template":{"spec":{"nodeSelector":{"disk":"ssd"}}}}}}]}}}}])");
    EXPECT_EQ(uid(), before);
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
    EXPECT_THAT(w.taken(), Not(Contains("delete JobSet ns/job")));
}

// The reference's snapshots are not immutable.
TEST_F(trainjob_replaced, never_where_another_controller_made_it) {
    begin(mpi_runtime, "  suspend: true\n");
    w.patch(snapshot, R"({"immutable":null})");
    w.deliver();
    w.restart();
    const std::string before = uid();
    change(R"("trainer":{"numNodes":4})");
    EXPECT_EQ(uid(), before);
    expect_nodes(2);
    EXPECT_THAT(w.events, Contains(HasSubstr("JobSetKept")));
    change(R"("suspend":false)");
    EXPECT_FALSE(set_suspended());
    expect_nodes(2);
    w.erase(hostfile);  // nor later
    w.settle();
    expect_nodes(2);
}

TEST_F(trainjob_replaced, never_while_somebody_else_controls_it) {
    begin(mpi_runtime, "  suspend: true\n");
    w.erase(set);
    w.apply_yaml(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: job, namespace: ns}\nspec: {suspend: "
        "true}\n");
    const std::string theirs = w.objects[set];
    change(R"("trainer":{"numNodes":4})");
    EXPECT_EQ(w.objects[set], theirs);
}

}  // namespace
}  // namespace cotrain::reconcile
