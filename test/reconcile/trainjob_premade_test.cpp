// What users make beforehand under the names that children need, and jobs whose other children cannot be made: it is
// used as it is or told, and never keeps a JobSet from being suspended or resumed (difference 21).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* secret = "Secret ns/job-mpi-ssh-auth";
constexpr const char* group = "PodGroup.scheduling.x-k8s.io ns/job";
constexpr auto key_pair =
    "type: kubernetes.io/ssh-auth\ndata: {ssh-privatekey: cHJpdmF0ZQ==, ssh-publickey: cHVibGlj}\n";

struct trainjob_premade : trainjob_case {
    static std::string owner_of(bool controlled) {
        return controlled ? ", ownerReferences: [{apiVersion: v1, kind: Pod, name: o, uid: u, controller: true}]" : "";
    }
    void put_secret(std::string_view rest, bool controlled = false) {
        w.apply_yaml("apiVersion: v1\nkind: Secret\nmetadata: {name: job-mpi-ssh-auth, namespace: ns" +
                     owner_of(controlled) + "}\n" + std::string(rest));
    }
    void put_group(bool controlled = false) {
        w.apply_yaml(
            "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: job, namespace: "
            "ns" +
            owner_of(controlled) + "}\nspec: {minMember: 1}\n");
    }
    void suspend(bool on) {
        w.patch(job, std::string(R"({"spec":{"suspend":)") + (on ? "true}}" : "false}}"));
        w.settle();
    }
    [[nodiscard]] bool set_suspended() const {
        doc::arena memory;
        return w.object(memory, set).get({"spec", "suspend"}).as_bool(false);
    }
};

TEST(trainjob_children, names_of_files_end_as_the_plugins_declare) {
    EXPECT_THAT(file_suffixes(plugins::builtin()),
                testing::UnorderedElementsAre("-runtime-snapshot", "-mpi-ssh-auth", "-mpi-hostfile", "-flux-entrypoint",
                                              "-flux-curve", "-tls-config"));
}

TEST_F(trainjob_premade, a_secret_and_a_pod_group_that_nobody_controls_are_used_as_they_are) {
    put_secret(key_pair);
    put_group();
    const std::string key = w.objects[secret];
    const std::string gang = w.objects[group];
    begin(mpi_runtime);
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
    EXPECT_THAT(w.events, AllOf(Contains(HasSubstr("Secret job-mpi-ssh-auth")), Contains(HasSubstr("PodGroup job"))));
    w.events.clear();
    for (const bool on : {true, false, true, false}) {
        if (on) w.restart();
        suspend(on);
        EXPECT_EQ(set_suspended(), on);
        EXPECT_EQ(w.condition("Suspended"), on ? "True" : "False");
        EXPECT_EQ(w.condition("ResourcesReady"), "-");
    }
    finish("Completed");
    EXPECT_EQ(w.objects[secret], key);
    EXPECT_EQ(w.objects[group], gang);
}

// Pods of a running job wait for what is not there.
TEST_F(trainjob_premade, is_made_when_it_goes_while_the_job_runs) {
    for (const bool restarted : {false, true}) {
        w.apply_yaml(mpi_runtime);
        put_group();
        w.apply_yaml(train_job());
        w.settle();
        if (restarted) {
            w.restart();
            static_cast<void>(w.run_job());
        }
        w.erase(group);
        w.settle();
        EXPECT_THAT(w.objects[group], HasSubstr(R"("minMember":3)"));
        w.erase(group);
        w.settle();
        EXPECT_TRUE(w.objects.contains(group)) << "the same of ours";
        for (const char* each : {job, set, snapshot, hostfile, secret, group}) w.erase(each);
        w.settle();
    }
}

TEST_F(trainjob_premade, a_secret_that_is_no_key_pair_is_refused_until_it_is_one) {
    for (const char* rest : {"type: Opaque\ndata: {ssh-privatekey: eA==, ssh-publickey: eA==}\n",
                             "type: kubernetes.io/ssh-auth\ndata: {ssh-privatekey: eA==}\n",
                             "type: kubernetes.io/ssh-auth\ndata: {ssh-privatekey: eA==, ssh-publickey: ''}\n"}) {
        put_secret(rest);
        const std::string theirs = w.objects[secret];
        begin(mpi_runtime);
        EXPECT_FALSE(w.objects.contains(set)) << rest;
        EXPECT_EQ(w.condition("ResourcesReady"), "False");
        EXPECT_EQ(w.objects[secret], theirs);
    }
    w.erase(secret);
    put_secret(key_pair);
    static_cast<void>(w.run_job("ns/job", 9));
    w.settle();
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST_F(trainjob_premade, what_somebody_controls_is_never_used) {
    put_secret(key_pair, true);
    begin(mpi_runtime);
    EXPECT_FALSE(w.objects.contains(set));
    EXPECT_THAT(w.taken(), Not(Contains(HasSubstr("read Secret"))));
    w.erase(secret);
    put_group(true);
    static_cast<void>(w.run_job("ns/job", 9));
    w.settle();
    EXPECT_FALSE(w.objects.contains(set));
    EXPECT_THAT(w.condition("ResourcesReady", "message"), HasSubstr("PodGroup"));
}

// One way in which another child cannot be had, once its job runs.
struct obstacle {
    const char* name;
    void (*put)(trainjob_premade&);
    bool resumes;  // it is known what is to run
};

base::error answered(int status) {
    base::error e = base::make_error(base::errc::status, std::to_string(status));
    e.http_status = status;
    return e;
}

void replace(trainjob_world& w, const char* label, const std::string& yaml) {
    w.erase(label);
    w.apply_yaml(yaml);
}

constexpr auto controlled = ", ownerReferences: [{apiVersion: v1, kind: Pod, name: o, uid: u, controller: true}]}\n";

const std::array obstacles{
    obstacle{"a hostfile of somebody else",
             [](trainjob_premade& t) {
                 replace(t.w, hostfile,
                         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: job-mpi-hostfile, "
                         "namespace: ns}\ndata: {hostfile: x}\n");
             },
             true},
    obstacle{"a PodGroup of somebody else",
             [](trainjob_premade& t) {
                 replace(t.w, group,
                         std::string("apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: "
                                     "{name: job, namespace: ns") +
                             controlled + "spec: {}\n");
             },
             true},
    obstacle{"a Secret of somebody else",
             [](trainjob_premade& t) {
                 replace(t.w, secret,
                         std::string("apiVersion: v1\nkind: Secret\nmetadata: {name: job-mpi-ssh-auth, "
                                     "namespace: ns") +
                             controlled);
             },
             true},
    obstacle{"Secrets that may not be read",
             [](trainjob_premade& t) { t.w.refusals["get Secret ns/job-mpi-ssh-auth"] = answered(403); }, true},
    obstacle{"a hostfile that is refused",
             [](trainjob_premade& t) {
                 t.w.erase(hostfile);
                 t.w.refusals["apply ConfigMap ns/job-mpi-hostfile"] = answered(422);
             },
             true},
    obstacle{"PodGroups that are not seen",
             [](trainjob_premade& t) {
                 t.w.erase(group);
                 t.w.doubts[static_cast<std::size_t>(watch::kind::coscheduling_pod_group)] = "403";
             },
             true},
    obstacle{"a snapshot of somebody else",
             [](trainjob_premade& t) {
                 replace(t.w, snapshot,
                         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: job-runtime-snapshot, "
                         "namespace: ns}\ndata: {runtime: x}\n");
             },
             false},
    obstacle{"a plan that is impossible",
             [](trainjob_premade& t) { t.w.patch(job, R"({"spec":{"trainer":{"numNodes":2147483647}}})"); }, false},
};

TEST(trainjob_premade_orders, no_other_child_keeps_a_job_set_from_being_suspended_or_resumed) {
    for (const obstacle& o : obstacles) {
        for (const bool restarted : {false, true}) {
            SCOPED_TRACE(std::string(o.name) + (restarted ? ", after a restart" : ""));
            struct running final : trainjob_premade {
                void TestBody() override {}
            } t;
            t.begin(mpi_runtime);
            o.put(t);
            t.w.settle();
            if (restarted) t.w.restart();
            t.suspend(true);
            EXPECT_TRUE(t.set_suspended());
            EXPECT_EQ(t.w.condition("Suspended"), "True");
            if (restarted) t.w.restart();
            t.suspend(false);
            EXPECT_EQ(t.set_suspended(), !o.resumes);
            EXPECT_EQ(t.w.condition("Suspended"), o.resumes ? "False" : "True") << "what is so, not what is wanted";
        }
    }
}

TEST_F(trainjob_premade, the_status_says_suspended_when_the_job_set_is) {
    begin(mpi_runtime);
    for (const char* request : {"apply JobSet ns/job", "patch JobSet ns/job"}) w.refusals[request] = answered(503);
    suspend(true);
    EXPECT_FALSE(set_suspended());
    EXPECT_EQ(w.condition("Suspended"), "-");
    w.refusals.clear();
    static_cast<void>(w.run_job("ns/job", 9));
    w.settle();
    EXPECT_TRUE(set_suspended());
    EXPECT_EQ(w.condition("Suspended"), "True");
}

// The clock of a job whose Pods cannot start yet does not run backwards to its creation.
TEST_F(trainjob_premade, a_deadline_counts_from_when_the_job_set_was_resumed) {
    begin(mpi_runtime, "  suspend: true\n  activeDeadlineSeconds: 600\n");
    w.now += std::chrono::hours(5);
    w.refusals["apply JobSet ns/job"] = answered(503);
    suspend(false);
    EXPECT_EQ(w.condition("Failed"), "-");
    EXPECT_EQ(w.condition("Suspended"), "True");
    w.refusals.clear();
    static_cast<void>(w.run_job("ns/job", 9));
    w.settle();
    EXPECT_EQ(w.condition("Suspended"), "False");
    w.now += std::chrono::minutes(11);
    static_cast<void>(w.run_job());
    EXPECT_EQ(w.condition("Failed", "reason"), "DeadlineExceeded");
}

}  // namespace
}  // namespace cotrain::reconcile
