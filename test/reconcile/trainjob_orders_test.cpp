// Every pair of events, in every order, at every await of a run: whatever comes between, the job ends up as it should.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

constexpr const char* secret = "Secret ns/job-mpi-ssh-auth";
constexpr const char* group = "PodGroup.scheduling.x-k8s.io ns/job";
constexpr auto completed = R"({"status":{"replicatedJobsStatus":[{"name":"node","succeeded":2}],"conditions":[
    {"type":"Completed","status":"True","reason":"R","message":"m","lastTransitionTime":"2026-01-01T01:00:00Z"}]}})";

void erase(trainjob_world& w, const char* label) {
    if (w.objects.contains(label)) w.erase(label);
}
void patch(trainjob_world& w, const char* label, const char* with) {
    if (w.objects.contains(label)) w.patch(label, with);
}
void erase_children(trainjob_world& w) {
    for (const char* each : {set, snapshot, hostfile, secret, group}) erase(w, each);
}

// What somebody else does, and whether stores hear of it at once.
struct event {
    const char* name;
    void (*happens)(trainjob_world& w);
};
const event events[] = {
    {"suspended", [](trainjob_world& w) { patch(w, job, R"({"spec":{"suspend":true}})"); }},
    {"resumed", [](trainjob_world& w) { patch(w, job, R"({"spec":{"suspend":false}})"); }},
    {"completed", [](trainjob_world& w) { patch(w, set, completed); }},
    {"counted",
     [](trainjob_world& w) { patch(w, set, R"({"status":{"replicatedJobsStatus":[{"name":"node","ready":1}]}})"); }},
    {"lost its JobSet", [](trainjob_world& w) { erase(w, set); }},
    {"completed and lost its JobSet", [](trainjob_world& w) { patch(w, set, completed), erase(w, set); }},
    {"lost its hostfile", [](trainjob_world& w) { erase(w, hostfile); }},
    {"has another hostfile", [](trainjob_world& w) { patch(w, hostfile, R"({"data":{"hostfile":"wrong"}})"); }},
    {"has a labelled snapshot", [](trainjob_world& w) { patch(w, snapshot, R"({"metadata":{"labels":{"a":"b"}}})"); }},
    {"has a condition of others",
     [](trainjob_world& w) {
         patch(w, job, R"({"status":{"conditions":[{"type":"Theirs","status":"True","reason":"R","message":"m",
                           "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
     }},
    {"is planned again", [](trainjob_world& w) { w.reconciler->mark_dirty(w.texts.find("ns/job")); }},
    {"deleted", [](trainjob_world& w) { erase(w, job), erase_children(w); }},
    {"replaced",
     [](trainjob_world& w) {
         if (!w.objects.contains(job)) return;
         const bool once = w.objects[job].find("000000000002") != std::string::npos;
         erase(w, job);
         erase_children(w);
         w.apply_yaml(train_job("", "11111111-0000-4000-8000-00000000000" + std::to_string(once ? 3 : 2)));
     }},
};

struct scenario {
    const char* name;
    void (*begins)(trainjob_world& w);  // up to the run that is looked at
};
const scenario scenarios[] = {
    {"a new Torch job",
     [](trainjob_world& w) {
         w.apply_yaml(torch_runtime);
         w.apply_yaml(train_job());
     }},
    {"a new suspended MPI job",
     [](trainjob_world& w) {
         w.apply_yaml(mpi_runtime);
         w.apply_yaml(train_job("  suspend: true\n"));
     }},
    {"a resumed MPI job",
     [](trainjob_world& w) {
         w.apply_yaml(mpi_runtime);
         w.apply_yaml(train_job("  suspend: true\n"));
         w.settle();
         w.patch(job, R"({"spec":{"suspend":false}})");
     }},
    {"an MPI job whose hostfile went before a restart",
     [](trainjob_world& w) {
         w.apply_yaml(mpi_runtime);
         w.apply_yaml(train_job());
         w.settle();
         w.erase(hostfile);
         w.restart();
     }},
    {"an MPI job that completes",
     [](trainjob_world& w) {
         w.apply_yaml(mpi_runtime);
         w.apply_yaml(train_job());
         w.settle();
         w.patch(set, completed);
     }},
};

// The awaits of the run that follows `begins`, two to each request.
int awaits_of(const scenario& s) {
    trainjob_world w;
    s.begins(w);
    int awaits = 0;
    w.on_wait = [&awaits] { ++awaits; };
    w.settle();
    return awaits;
}

// What was under way may have been made for a job that had gone.
void collect_garbage(trainjob_world& w) {
    doc::arena memory;
    const auto uid = w.object(memory, job).get({"metadata", "uid"}).as_string();
    for (const char* each : {set, snapshot, hostfile, secret, group}) {
        const auto owner = w.object(memory, each).get({"metadata", "ownerReferences"}).at(0).get("uid").as_string();
        if (owner != uid) erase(w, each);
    }
}

void expect_rest(trainjob_world& w) {
    for (int i = 0; i < 4; ++i) {
        collect_garbage(w);
        w.deliver();
        if (w.texts.find("ns/job") != watch::no_text) static_cast<void>(w.run_job("ns/job", 9));
        w.settle();
    }
    w.taken();
    if (w.texts.find("ns/job") == watch::no_text) return;
    EXPECT_TRUE(w.rests(w.run_job("ns/job", 9)));
    EXPECT_TRUE(w.taken().empty()) << "it has come to rest";
}

void expect_as_asked(trainjob_world& w) {
    doc::arena memory;
    const doc::ref asked = w.object(memory, job);
    if (!asked) {
        EXPECT_FALSE(w.objects.contains(set)) << "nothing is made for a job that went";
        return;
    }
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
    const bool suspended = asked.get({"spec", "suspend"}).as_bool(false);
    EXPECT_EQ(w.condition("Suspended") == "True", suspended);
    const doc::ref made = w.object(memory, set);
    if (w.condition("Complete") == "True") {
        EXPECT_EQ(w.condition("Complete", "lastTransitionTime"), "2026-01-01T01:00:00Z");
        EXPECT_FALSE(w.objects.contains(group));
        return;
    }
    ASSERT_TRUE(made) << "the job goes on";
    EXPECT_EQ(made.get({"metadata", "ownerReferences"}).at(0).get("uid").as_string(),
              asked.get({"metadata", "uid"}).as_string());
    EXPECT_EQ(made.get({"spec", "suspend"}).as_bool(false), suspended);
    EXPECT_FALSE(made.get({"status", "conditions"}).find_by("type", "Completed")) << "an end is never missed";
    EXPECT_TRUE(w.objects.contains(snapshot));
    const bool mpi = w.object(memory, "TrainingRuntime ns/rt").get({"spec", "mlPolicy", "mpi"}).is_object();
    for (const char* each : {hostfile, secret, group}) EXPECT_EQ(w.objects.contains(each), mpi) << each;
    if (mpi) EXPECT_NE(w.objects[hostfile].find("job-node-0-1"), std::string::npos);
}

struct order {
    const scenario& of;
    const event& first;
    const event& second;
    int first_at;
    int second_at;
    bool heard;  // before the run goes on
};

void check(const order& o) {
    SCOPED_TRACE(std::string(o.of.name) + ", which is " + o.first.name + " at await " + std::to_string(o.first_at) +
                 " and " + o.second.name + " at " + std::to_string(o.second_at) + (o.heard ? ", heard" : ", unheard"));
    trainjob_world w;
    o.of.begins(w);
    int awaits = 0;
    w.on_wait = [&] {
        const int now = awaits++;
        if (now == o.first_at) o.first.happens(w);
        if (now == o.second_at) o.second.happens(w);
        if (o.heard && (now == o.first_at || now == o.second_at)) w.deliver();
    };
    w.settle();
    w.on_wait = nullptr;
    EXPECT_LT(w.taken().size(), 60U);
    expect_rest(w);
    expect_as_asked(w);
}

// In full: each pair, each two awaits. Otherwise every n-th of that list, so that each event and each await has its
// turns.
TEST(trainjob_orders_of_two, end_in_what_was_asked_for) {
    const char* const full = std::getenv("COTRAIN_TEST_FULL");
    const std::size_t stride = full != nullptr && std::string_view(full) == "1" ? 1 : 13;
    std::size_t number = 0;
    std::size_t checked = 0;
    for (const scenario& s : scenarios) {
        const int awaits = awaits_of(s);
        ASSERT_GT(awaits, 1) << s.name;
        for (const event& first : events)
            for (const event& second : events)
                for (int i = 0; i < awaits; ++i)
                    for (int j = i; j < awaits; ++j)
                        for (const bool heard : {false, true}) {
                            if (number++ % stride != 0) continue;
                            ++checked;
                            check({s, first, second, i, j, heard});
                            if (testing::Test::HasFailure()) return;
                        }
    }
    std::printf("orders of two events: %zu of %zu checked\n", checked, number);
}

}  // namespace
}  // namespace cotrain::reconcile
