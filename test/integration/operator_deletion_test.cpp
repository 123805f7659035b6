// With a garbage collector: deleted TrainJobs leave nothing behind in any of the three ways, and random lives of many
// jobs end as a model says.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <set>

#include "base/random.hpp"
#include "base/task_group.hpp"
#include "doc/json.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_side_plane.hpp"

namespace cotrain::test {
namespace {

std::string mpi_job(bool suspend) {
    return std::string(R"({"runtimeRef":{"name":"mpi","kind":"TrainingRuntime"},"trainer":{"numNodes":2},"suspend":)") +
           (suspend ? "true}" : "false}");
}

class operator_deletion : public testing::Test {
   protected:
    static void SetUpTestSuite() { plane_ = std::make_unique<side_plane>(plane::complete); }
    static void TearDownTestSuite() { plane_.reset(); }
    static std::unique_ptr<side_plane> plane_;
};
std::unique_ptr<side_plane> operator_deletion::plane_;

// Objects of that kind whose names are, or begin with, the job's.
awaitable<int> left_of(operator_scene* s, kube::resource of, std::string job) {
    const std::string all = co_await s->list(of, kube::shape::metadata);
    co_return count_of(all, R"("name":")" + job + "\",\"namespace") + count_of(all, R"("name":")" + job + "-");
}

awaitable<bool> nothing_left(operator_scene* s, std::string job) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    asio::steady_timer timer(s->loop);
    for (;;) {
        int left = 0;
        for (const auto& of : {kinds::train_job, kinds::job_set, kinds::pod_group, kinds::config_map, kinds::secret})
            left += co_await left_of(s, of, job);
        if (left == 0) co_return true;
        if (std::chrono::steady_clock::now() > due) co_return false;
        timer.expires_after(std::chrono::milliseconds(200));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

TEST_F(operator_deletion, cleans_up_as_kubernetes_promises_and_namespaces_end) {
    operator_scene scene("operator-deletion", plane_->kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        co_await s.create_many("job-", 3, mpi_job(false));
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 3));
        using kube::propagation;
        for (const auto& [name, how] :
             {std::pair{"job-0", propagation::background}, std::pair{"job-1", propagation::foreground}}) {
            const auto done = co_await s.api->remove(kinds::train_job, {.ns = s.ns, .name = name}, {.dependents = how});
            EXPECT_TRUE(done.has_value());
            EXPECT_TRUE(co_await nothing_left(&s, name)) << name;
        }
        // Orphaned children stay, belong to nobody, and are in the way of a namesake.
        EXPECT_TRUE((co_await s.api->remove(kinds::train_job, {.ns = s.ns, .name = "job-2"},
                                            {.dependents = propagation::orphan}))
                        .has_value());
        EXPECT_TRUE(co_await s.until(kinds::job_set, [](const std::string& all) {
            return all.contains("job-2") && !all.contains("ownerReferences");
        }));
        EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) { return !all.contains("job-2"); }));
        EXPECT_FALSE((co_await s.list(kinds::event)).contains("TrainJobResourcesCreationFailed"));
        co_await s.create_jobs("job-", 2, 3, mpi_job(false));
        EXPECT_TRUE(co_await s.until(
            kinds::train_job, [](const std::string& all) { return all.contains("not controlled by this TrainJob"); }));
        EXPECT_TRUE((co_await s.api->remove(kinds::ns, {.name = s.ns})).has_value());
        const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(120);
        bool there = true;
        while (there && std::chrono::steady_clock::now() < due) {
            const auto got = co_await s.api->get(kinds::ns, {.name = s.ns});
            there = got.has_value() || got.error().http_status != 404;
        }
        EXPECT_FALSE(there) << "the namespace does not end";
    });
}

// What the model knows of a job.
struct modelled {
    bool exists = false;
    bool suspended = false;
};

awaitable<void> live(operator_scene* s, std::string name, std::uint64_t seed, int cycles, modelled* model) {
    base::random_source random(seed);
    const kube::location at{.ns = s->ns, .name = name};
    for (int i = 0; i < cycles; ++i) {
        const auto choice = random.next() % 4;
        if (!model->exists) {
            const bool suspend = random.next() % 2 == 0;
            const std::string body =
                R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")" + name +
                R"("},"spec":)" + mpi_job(suspend) + "}";
            const auto made = co_await s->api->create(kinds::train_job, s->ns, body);
            EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
            *model = {true, suspend};
        } else if (choice == 0) {
            const auto gone =
                co_await s->api->remove(kinds::train_job, at, {.dependents = kube::propagation::background});
            EXPECT_TRUE(gone.has_value()) << (gone ? "" : gone.error().message);
            model->exists = false;
        } else {
            model->suspended = !model->suspended;
            const auto done = co_await s->api->merge_patch(
                kinds::train_job, at,
                model->suspended ? R"({"spec":{"suspend":true}})" : R"({"spec":{"suspend":false}})");
            EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
        }
    }
}

// Names of a list's objects with their uids, and of those that a member says is suspended.
struct picture {
    std::map<std::string, std::string> uids;
    std::map<std::string, std::string> owners;
    std::set<std::string> suspended;
};

awaitable<picture> look(operator_scene* s, kube::resource of) {
    picture out;
    doc::arena memory;
    const auto answer = co_await s->api->list(of, s->ns);
    const auto list = doc::parse_json_copy(memory, answer ? answer->body : "{}");
    for (const doc::ref item : list->get("items").items()) {
        const std::string name(item.get({"metadata", "name"}).as_string());
        out.uids[name] = item.get({"metadata", "uid"}).as_string();
        if (const doc::ref owner = item.get({"metadata", "ownerReferences"}).at(0)) {
            out.owners[name] = owner.get("uid").as_string();
        }
        if (item.get({"spec", "suspend"}).as_bool(false)) out.suspended.insert(name);
    }
    co_return out;
}

// Every job has its JobSet, key, hostfile, snapshot and PodGroup; nothing else exists.
awaitable<std::string> fault_of(operator_scene* s, const std::map<std::string, modelled>* model) {
    const picture jobs = co_await look(s, kinds::train_job);
    const picture sets = co_await look(s, kinds::job_set);
    const picture maps = co_await look(s, kinds::config_map);
    const picture secrets = co_await look(s, kinds::secret);
    const picture groups = co_await look(s, kinds::pod_group);
    std::size_t existing = 0;
    for (const auto& [name, m] : *model) {
        if (!m.exists) continue;
        ++existing;
        if (!jobs.uids.contains(name)) co_return name + " is not there";
        const std::string uid = jobs.uids.at(name);
        const auto ours = [&](const picture& p, const std::string& child) {
            const auto found = p.owners.find(child);
            return found != p.owners.end() && found->second == uid;
        };
        if (!ours(sets, name) || !ours(groups, name) || !ours(secrets, name + "-mpi-ssh-auth") ||
            !ours(maps, name + "-mpi-hostfile") || !ours(maps, name + "-runtime-snapshot")) {
            co_return name + " has not all its children";
        }
        if (sets.suspended.contains(name) != m.suspended) co_return name + "'s JobSet is not as suspended as it is";
    }
    std::size_t owned = 0;
    for (const auto& map : maps.owners) owned += map.first.empty() ? 0 : 1;
    if (jobs.uids.size() != existing || sets.uids.size() != existing || groups.uids.size() != existing ||
        secrets.owners.size() != existing || owned != 2 * existing) {
        co_return "there are orphans or duplicates: " + std::to_string(existing) + " jobs, " +
            std::to_string(sets.uids.size()) + " JobSets, " + std::to_string(owned) + " ConfigMaps";
    }
    co_return "";
}

awaitable<std::string> fault_within(operator_scene* s, const std::map<std::string, modelled>* model,
                                    std::chrono::seconds time) {
    const auto due = std::chrono::steady_clock::now() + time;
    asio::steady_timer timer(s->loop);
    for (;;) {
        std::string fault = co_await fault_of(s, model);
        if (fault.empty() || std::chrono::steady_clock::now() > due) co_return fault;
        timer.expires_after(std::chrono::milliseconds(250));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

TEST_F(operator_deletion, random_lives_end_as_the_model_says) {
    operator_scene scene("operator-cycles", plane_->kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        const int names = 25;
        const int cycles = full_run() ? 40 : 10;
        std::map<std::string, modelled> model;
        for (int i = 0; i < names; ++i) model["job-" + std::to_string(i)];
        base::task_group lives(s.loop.get_executor());
        std::uint64_t seed = 1;
        for (auto& [name, m] : model) lives.spawn("life", live(&s, name, seed++, cycles, &m));
        co_await lives.join();
        EXPECT_EQ(co_await fault_within(&s, &model, std::chrono::seconds(180)), "");
        std::printf("%d random cycles on %d jobs ended as the model says\n", names * cycles, names);
    });
}

// The children of the first are still there when the second comes, and no store knows of them any more.
TEST_F(operator_deletion, a_namesake_of_a_finished_job_gets_children_of_its_own) {
    operator_scene scene("operator-namesake", plane_->kubeconfig());
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator());
        std::map<std::string, modelled> model;
        for (int i = 0; i < 10; ++i) model["job-" + std::to_string(i)].exists = true;
        co_await s.create_many("job-", 10, mpi_job(false));
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 10));
        co_await s.complete_many("job-", 10);
        EXPECT_TRUE(co_await s.until(
            kinds::train_job, [](const std::string& all) { return count_of(all, R"("type":"Complete")") == 10; }));
        const picture before = co_await look(&s, kinds::job_set);
        for (int i = 0; i < 10; ++i) {
            EXPECT_TRUE((co_await s.api->remove(kinds::train_job, {.ns = s.ns, .name = "job-" + std::to_string(i)},
                                                {.dependents = kube::propagation::background}))
                            .has_value());
            co_await s.create_jobs("job-", i, i + 1, mpi_job(false));
        }
        EXPECT_EQ(co_await fault_within(&s, &model, std::chrono::seconds(120)), "");
        const picture after = co_await look(&s, kinds::job_set);
        for (const auto& [name, uid] : before.uids) EXPECT_NE(after.uids.at(name), uid) << name;
        EXPECT_TRUE(co_await s.until(
            kinds::train_job, [](const std::string& all) { return count_of(all, R"("type":"ResourcesReady")") == 0; }));
    });
}

}  // namespace
}  // namespace cotrain::test
