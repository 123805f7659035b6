// The runtime snapshot is made once, and what is not the one that was recorded is never run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "api/runtime.hpp"
#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string text_in(const trainjob_world& w) {
    doc::arena memory;
    return std::string(w.object(memory, snapshot).get({"data", "runtime"}).as_string());
}

// As after a deletion and a creation by somebody who knows the job's uid.
void tamper(trainjob_world& w) {
    std::string text = text_in(w);
    if (const std::size_t at = text.find("image: i"); at != std::string::npos) text.replace(at, 8, "image: theirs");
    doc::arena memory;
    doc::editor change = doc::editor::object(memory);
    change.ensure_object("data").set("runtime", text);
    w.patch(snapshot, doc::to_json(change));
}

void suspend(trainjob_world& w, bool yes) {
    w.patch(job, yes ? R"({"spec":{"suspend":true}})" : R"({"spec":{"suspend":false}})");
}

struct trainjob_snapshot : trainjob_case {
    [[nodiscard]] std::string text() const { return text_in(w); }
    [[nodiscard]] std::string recorded() const {
        doc::arena memory;
        return std::string(w.object(memory, job).get({"status", "runtimeSnapshotHash"}).as_string());
    }
    [[nodiscard]] bool immutable() const {
        doc::arena memory;
        return w.object(memory, snapshot).get("immutable").as_bool(false);
    }
};

constexpr auto suspended = "  suspend: true\n";
constexpr auto counts = R"({"status":{"replicatedJobsStatus":[{"name":"node","active":1}]}})";

TEST_F(trainjob_snapshot, its_hash_goes_with_the_first_status) {
    begin();
    EXPECT_THAT(w.taken(), ElementsAre("apply ConfigMap ns/job-runtime-snapshot", "apply JobSet ns/job"));
    EXPECT_TRUE(immutable());
    EXPECT_EQ(recorded(), "");
    w.patch(set, counts);
    w.settle();
    EXPECT_THAT(w.taken(), ElementsAre("patch TrainJob ns/job/status"));
    EXPECT_EQ(recorded(), api::snapshot_hash(text()));
    w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","ready":1}]}})");
    w.settle();
    EXPECT_EQ(recorded(), api::snapshot_hash(text())) << "later statuses leave it";
}

TEST_F(trainjob_snapshot, one_that_was_changed_is_not_run) {
    begin(torch_runtime, suspended);
    tamper(w);
    w.settle();
    suspend(w, false);
    w.events.clear();
    w.settle();
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":true"));
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "SnapshotChanged");
    EXPECT_THAT(w.events, Contains(HasSubstr("is not as it was when it was recorded")));
    w.restart();
    static_cast<void>(w.run_job("ns/job", 9));
    EXPECT_THAT(w.objects[set], Not(HasSubstr("theirs")));
    w.erase(snapshot);
    w.settle();
    EXPECT_EQ(recorded(), api::snapshot_hash(text())) << "made anew from the runtime";
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":false"));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

// With the definitions of another operator, which drop the field, this process still knows.
TEST_F(trainjob_snapshot, one_that_was_changed_before_its_hash_was_written_is_not_run) {
    begin();
    EXPECT_EQ(recorded(), "");
    tamper(w);
    suspend(w, true);
    w.settle();
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "SnapshotChanged");
    EXPECT_THAT(w.objects[set], Not(HasSubstr("theirs")));
}

TEST_F(trainjob_snapshot, whatever_became_of_it_the_job_stops) {
    begin();
    w.patch(set, counts);
    w.settle();
    tamper(w);
    suspend(w, true);
    w.settle();
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "SnapshotChanged");
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":true"));
    suspend(w, false);
    w.settle();
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":true")) << "but it does not go on";
}

TEST_F(trainjob_snapshot, of_another_controller_counts_as_it_is_found) {
    begin(torch_runtime, suspended);
    const std::string before = text();
    doc::arena memory;
    doc::editor theirs = doc::editor::of(memory, doc::deep_copy(memory, w.object(memory, snapshot)));
    theirs.remove("immutable");
    const std::string found = doc::to_json(theirs);
    w.erase(snapshot);
    w.patch(job, R"({"status":{"runtimeSnapshotHash":null}})");
    w.apply_yaml(found);
    w.deliver();
    w.queue.clear();
    w.restart();
    w.taken();
    static_cast<void>(w.run_job());
    EXPECT_THAT(w.taken(), ElementsAre("get ConfigMap ns/job-runtime-snapshot", "patch TrainJob ns/job/status"));
    EXPECT_EQ(recorded(), api::snapshot_hash(before));
    EXPECT_FALSE(immutable());
    w.settle();
    EXPECT_THAT(w.taken(), IsEmpty()) << "recorded once";
    tamper(w);
    suspend(w, false);
    w.settle();
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "SnapshotChanged");
}

// Whoever tampers, and whenever: nothing of it reaches a JobSet.
TEST(trainjob_snapshot_orders, no_order_of_events_runs_a_changed_one) {
    const std::vector<std::function<void(trainjob_world&)>> acts{
        tamper,
        [](trainjob_world& w) { w.settle(); },
        [](trainjob_world& w) { w.restart(); },
        [](trainjob_world& w) { suspend(w, true); },
        [](trainjob_world& w) { suspend(w, false); },
        [](trainjob_world& w) { w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","active":1}]}})"); },
        [](trainjob_world& w) { w.hold_back(snapshot); }};
    constexpr unsigned length = 4;
    unsigned orders = 1;
    for (unsigned i = 0; i < length; ++i) orders *= static_cast<unsigned>(acts.size());
    for (unsigned order = 0; order < orders; ++order) {
        SCOPED_TRACE(order);
        trainjob_world w;
        w.apply_yaml(torch_runtime);
        w.apply_yaml(train_job(suspended));
        w.settle();
        for (unsigned rest = order, i = 0; i < length; ++i, rest /= static_cast<unsigned>(acts.size()))
            acts[rest % acts.size()](w);
        w.queue.push_back({.name = w.texts.find("ns/job"), .kind = 0});
        w.settle();
        ASSERT_THAT(w.objects[set], Not(HasSubstr("theirs")));
    }
}

}  // namespace
}  // namespace cotrain::reconcile
