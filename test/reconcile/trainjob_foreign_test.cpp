// Objects of somebody else under the names that children need, which the stores do not show, or not in time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

using trainjob_foreign = trainjob_case;

struct place {
    std::string label;
    std::string version;
    std::string rest;
};

const std::array places{place{snapshot, "v1", "data: {theirs: x}"}, place{hostfile, "v1", "data: {theirs: x}"},
                        place{"Secret ns/job-mpi-ssh-auth", "v1", "type: Opaque"},
                        place{"PodGroup.scheduling.x-k8s.io ns/job", "scheduling.x-k8s.io/v1alpha1", "spec: {}"},
                        place{set, "jobset.x-k8s.io/v1alpha2", "spec: {suspend: true}"}};

std::string foreign(const place& p, bool controlled) {
    const std::string kind = p.label.substr(0, p.label.find_first_of(". "));
    const std::string name = p.label.substr(p.label.find('/') + 1);
    const std::string owner =
        controlled ? ", ownerReferences: [{apiVersion: v1, kind: Pod, name: o, uid: u, controller: true}]" : "";
    return "apiVersion: " + p.version + "\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: ns" + owner +
           "}\n" + p.rest + "\n";
}

// One order of events: an object of somebody else comes before the n-th apply, told or not.
struct order {
    const place& where;
    int before;
    bool told;
    bool controlled;
};

void check(const order& o) {
    SCOPED_TRACE(o.where.label + " before apply " + std::to_string(o.before) + (o.told ? ", told" : ", not told") +
                 (o.controlled ? ", controlled" : ", free"));
    trainjob_world w;
    std::string theirs;
    int applies = 0;
    w.on_apply = [&] {
        if (applies++ != o.before || w.objects.contains(o.where.label)) return;
        w.apply_yaml(foreign(o.where, o.controlled));
        theirs = w.objects[o.where.label];
        o.told ? w.deliver() : w.hold_back(o.where.label);
    };
    w.apply_yaml(mpi_runtime);
    w.apply_yaml(train_job());
    w.settle();
    if (theirs.empty()) return;  // it was made before
    EXPECT_EQ(w.objects[o.where.label], theirs);
    // A PodGroup that nobody controls is used as it is, once it is seen.
    const bool used = o.where.label.starts_with("PodGroup") && !o.controlled;
    if (!used) {
        EXPECT_EQ(w.condition("ResourcesReady"), "False");
        EXPECT_THAT(w.condition("ResourcesReady", "message"), HasSubstr("not controlled by this TrainJob"));
    }
    w.restart();
    static_cast<void>(w.run_job("ns/job", 9));
    EXPECT_EQ(w.objects[o.where.label], theirs);
    if (used && o.told) EXPECT_TRUE(w.objects.contains(set));
    w.erase(o.where.label);
    // Nobody tells of Secrets: the next run looks.
    if (o.where.label.starts_with("Secret ")) static_cast<void>(w.run_job("ns/job", 9));
    w.settle();
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST(trainjob_foreign_orders, nobody_elses_object_is_ever_changed) {
    for (const place& p : places)
        for (int before = 0; before < 6; ++before)
            for (const bool told : {false, true})
                for (const bool controlled : {false, true}) check({p, before, told, controlled});
}

TEST_F(trainjob_foreign, another_object_of_the_same_name_is_not_the_one_that_was_meant) {
    begin(torch_runtime, "  suspend: true\n");
    w.erase(set);
    w.hold_back(set);
    w.apply_yaml(foreign(places.back(), false));
    w.hold_back(set);
    const std::string theirs = w.objects[set];
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.taken();
    w.settle();
    EXPECT_EQ(w.objects[set], theirs);
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
    EXPECT_THAT(w.taken(), Contains("get JobSet ns/job")) << "it is looked at";
}

TEST_F(trainjob_foreign, what_is_ours_already_is_found_and_kept) {
    begin();
    const std::string ours = w.objects[set];
    w.erase(set);
    w.erase(snapshot);
    w.deliver();
    w.restart();
    w.on_apply = [&] {
        if (w.objects.contains(set)) return;
        w.apply_yaml(ours);  // another replica's, or our own whose answer was lost
        w.hold_back(set);
    };
    w.taken();
    w.run_job();
    w.settle();
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
    doc::arena memory;
    EXPECT_EQ(w.object(memory, set).get({"metadata", "uid"}).as_string(),
              doc::parse_json(memory, ours)->get({"metadata", "uid"}).as_string());
}

TEST_F(trainjob_foreign, nothing_is_applied_of_a_kind_that_is_not_seen) {
    const auto sets = static_cast<std::size_t>(watch::kind::job_set);
    w.doubts[sets] = "403 Forbidden";
    begin();
    EXPECT_THAT(w.taken(), Not(Contains("apply JobSet ns/job")));
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "CacheNotSynced");
    EXPECT_THAT(w.condition("ResourcesReady", "message"), HasSubstr("403 Forbidden"));
    w.doubts[sets].clear();
    w.waker->synced(watch::kind::job_set);
    w.settle();
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

}  // namespace
}  // namespace cotrain::reconcile
