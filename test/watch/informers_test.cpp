// Informers together: when they are ready, what is missing, and what a finished job lets go of.
#include "watch/informers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/signal.hpp"
#include "support/watch_samples.hpp"
#include "watch/scripted_api.hpp"

namespace cotrain::watch {
namespace {

using testing::ElementsAre;

// Answers by what the path names; collections that no script speaks of are empty.
struct together {
    std::map<std::string, std::deque<step>> scripts;
    kube::fake_api api;
    text_table texts;
    heard listener{texts};
    base::random_source random{5};
    informers_options options;
    base::signal let_end;  // a stream that ends cleanly waits for it

    together() : api([this](kube::fake_api&, net::incoming in) { return play(this, std::move(in)); }) {
        options.timing.retry = options.timing.denied = options.timing.costly = options.timing.missing =
            options.timing.unneeded = {std::chrono::milliseconds(1), std::chrono::milliseconds(4), 2.0, 0.5};
        api.options().retry.throttled_max = 0;
        api.options().retry.failing_max = 0;
    }
    using body = awaitable<void> (*)(together&, informers&);
    void run(body what) {
        api.run([this, what](kube::fake_api&, kube::client& c) { return around(this, &c, what); });
    }

   private:
    static awaitable<void> around(together* self, kube::client* client, body what) {
        base::task_group group(self->api.loop.get_executor());
        informers all({group, *client, self->texts, self->listener, self->random, self->api.log}, self->options);
        all.start();
        co_await what(*self, all);
        group.cancel();
        co_await group.join();
    }
    static awaitable<void> play(together* self, net::incoming in) {
        const std::string& path = in.head().path;
        const std::string end = path.substr(0, path.find('?'));
        const std::string plural = end.substr(end.rfind('/') + 1);
        step todo = streams({bookmark(1, true)}, step::end::held);
        if (auto& script = self->scripts[plural]; !script.empty()) {
            todo = std::move(script.front());
            script.pop_front();
        }
        if (todo.how == step::end::whole) co_return in.respond(todo.status, {}, todo.pieces.at(0));
        in.begin(todo.status, {});
        for (const std::string& piece : todo.pieces)
            if (!co_await in.write(piece)) co_return;
        if (todo.how == step::end::held) co_return co_await in.until_gone();
        static_cast<void>(co_await self->let_end.wait());
        in.finish();
    }
};

TEST(informers, are_ready_when_all_that_is_required_is_there) {
    together here;
    here.scripts["jobsets"] = {refuse(404, "NotFound"), refuse(404, "NotFound")};
    // Of both groups, for ever: nobody has to have them.
    for (int i = 0; i < 100; ++i) here.scripts["podgroups"].push_back(refuse(404, "NotFound"));
    here.scripts["runtimeclasses"] = {refuse(403, "Forbidden")};
    here.run([](together& t, informers& all) -> awaitable<void> {
        co_await t.listener.until("JobSet missing");
        EXPECT_THAT(all.missing(), ElementsAre(kind::job_set));
        EXPECT_FALSE(all.is_ready());
        EXPECT_TRUE(co_await all.ready());
        EXPECT_TRUE(all.is_ready());
        EXPECT_THAT(all.missing(), ElementsAre());
        EXPECT_TRUE(all.of(kind::volcano_pod_group)->missing());
    });
}

TEST(informers, ask_for_all_that_was_denied_when_one_kind_can_be_read) {
    together t;
    t.options.timing.denied = {std::chrono::milliseconds(20), std::chrono::milliseconds(20), 2.0, 0.0};
    t.options.timing.unneeded = {std::chrono::hours(1), std::chrono::hours(1), 2.0, 0.0};
    t.scripts["limitranges"] = {refuse(403, "Forbidden")};
    t.scripts["jobsets"] = {refuse(403, "Forbidden")};
    t.run([](together&, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        EXPECT_TRUE(co_await const_cast<informer*>(all.of(kind::limit_range))->synced());
    });
}

TEST(informers, watch_only_what_they_are_told_to) {
    together here;
    here.options.watched = kind_set().set(static_cast<std::size_t>(kind::limit_range));
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        EXPECT_EQ(t.api.seen.size(), 1U);
        EXPECT_EQ(all.of(kind::secret), nullptr);
        EXPECT_EQ(all.store(kind::secret).size(), 0U);
    });
}

TEST(informers, let_go_of_the_job_set_of_a_job_that_has_its_last_counts) {
    together here;
    test::sample_job job;
    const std::string running = test::running_train_job(job);
    job.terminal = "Complete";
    job.active = 0;
    job.succeeded = 4;
    const std::string set = test::job_set_of(job, "0a1b2c3d-0000-4000-8000-000000000001", "90000");
    job.resource_version = "90001";
    here.scripts["trainjobs"] = {streams({line("ADDED", running), bookmark(81'234, true)}, step::end::clean),
                                 streams({line("MODIFIED", test::running_train_job(job))}, step::end::held)};
    here.scripts["jobsets"] = {streams({line("ADDED", set), bookmark(90'000, true)}, step::end::held)};
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        const auto at = all.store(kind::job_set).find("team-a", "torch-000123");
        EXPECT_TRUE(at);
        if (!at) co_return;
        EXPECT_NE(all.store(kind::job_set).body(*at), nullptr);
        t.let_end.notify();
        co_await t.listener.until("TrainJob team-a/torch-000123 changed status");
        EXPECT_EQ(all.store(kind::job_set).size(), 0U);
        EXPECT_GT(all.memory_bytes(), 0U);
    });
}

TEST(informers, let_go_of_job_sets_that_came_before_their_finished_jobs) {
    together here;
    test::sample_job job;
    job.terminal = "Failed";
    job.active = 0;
    here.scripts["trainjobs"] = {
        streams({line("ADDED", test::running_train_job(job)), bookmark(81'234, true)}, step::end::held)};
    here.scripts["jobsets"] = {streams(
        {line("ADDED", test::job_set_of(job, "0a1b2c3d-0000-4000-8000-000000000001", "90000")), bookmark(90'000, true)},
        step::end::held)};
    here.run([](together&, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        const auto at = all.store(kind::job_set).find("team-a", "torch-000123");
        EXPECT_TRUE(at && all.store(kind::job_set).body(*at) == nullptr);
    });
}

std::string snapshot_of(const test::sample_job& job, std::string_view uid) {
    return R"({"metadata":{"name":")" + job.name + R"(-runtime-snapshot","namespace":")" + job.ns +
           R"(","uid":"0a1b2c3d-0000-4000-8000-000000000002","resourceVersion":"90002","ownerReferences":[)"
           R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":")" +
           job.name + R"(","uid":")" + std::string(uid) + R"(","controller":true}]}})";
}

TEST(informers, keep_no_files_of_complete_jobs_but_those_that_belong_to_others) {
    together here;
    test::sample_job job;
    job.terminal = "Complete";
    job.active = 0;
    test::sample_job failed = job;
    failed.name = "failed";
    failed.uid = "0a1b2c3d-0000-4000-8000-0000000000f0";
    failed.terminal = "Failed";
    test::sample_job again = job;
    again.name = "again";
    again.uid = "0a1b2c3d-0000-4000-8000-0000000000a0";
    here.scripts["trainjobs"] = {
        streams({line("ADDED", test::running_train_job(job)), line("ADDED", test::running_train_job(failed)),
                 line("ADDED", test::running_train_job(again)), bookmark(81'234, true)},
                step::end::held)};
    here.scripts["configmaps"] = {
        streams({line("ADDED", snapshot_of(job, job.uid)), line("ADDED", snapshot_of(failed, failed.uid)),
                 line("ADDED", snapshot_of(again, "0a1b2c3d-0000-4000-8000-0000000000ff")), bookmark(90'000, true)},
                step::end::held)};
    here.run([](together&, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        const auto& maps = all.store(kind::config_map);
        EXPECT_FALSE(maps.find("team-a", "torch-000123-runtime-snapshot"));
        EXPECT_TRUE(maps.find("team-a", "failed-runtime-snapshot")) << "its Failed may be taken back";
        EXPECT_TRUE(maps.find("team-a", "again-runtime-snapshot")) << "it is of a namesake that is gone";
    });
}

TEST(informers, let_go_of_the_files_of_a_job_that_completes) {
    together here;
    test::sample_job job;
    const std::string running = test::running_train_job(job);
    job.terminal = "Complete";
    job.active = 0;
    job.resource_version = "90001";
    here.scripts["trainjobs"] = {streams({line("ADDED", running), bookmark(81'234, true)}, step::end::clean),
                                 streams({line("MODIFIED", test::running_train_job(job))}, step::end::held)};
    here.scripts["configmaps"] = {
        streams({line("ADDED", snapshot_of(job, job.uid)), bookmark(90'000, true)}, step::end::held)};
    here.run([](together& t, informers& all) -> awaitable<void> {
        EXPECT_TRUE(co_await all.ready());
        EXPECT_EQ(all.store(kind::config_map).size(), 1U);
        t.let_end.notify();
        co_await t.listener.until("TrainJob team-a/torch-000123 changed status");
        EXPECT_EQ(all.store(kind::config_map).size(), 0U);
    });
}

}  // namespace
}  // namespace cotrain::watch
