// The cluster in a process, and our operator in it.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "playground/box_scene.hpp"

namespace cotrain {
namespace {

using test::box_scene;

playground::box_options quick() {
    playground::box_options out;
    out.script = *sim::read_script("start 5ms, ready 5ms, run 20ms");
    return out;
}

awaitable<void> bring_jobs_to_complete(box_scene& s) {
    EXPECT_TRUE(co_await s.ours.ready());
    EXPECT_TRUE(s.make_jobs(3));
    EXPECT_TRUE(co_await s.until_complete(3));
    EXPECT_EQ(s.count("jobset.x-k8s.io", "v1alpha2", "jobsets", R"("manager":"trainer")"), 3U);
    EXPECT_EQ(s.count("", "v1", "pods"), 6U);
    EXPECT_EQ(s.count("", "v1", "configmaps", "-runtime-snapshot"), 3U);
}

TEST(box, brings_jobs_to_complete) {
    box_scene s(quick());
    s.play(bring_jobs_to_complete);
}

// A start with many jobs: one that is made meanwhile does not wait for all of them.
awaitable<void> let_a_new_job_pass(box_scene& s) {
    constexpr std::size_t many = 400;
    EXPECT_TRUE(s.make_jobs(many));
    asio::steady_timer timer(s.loop);
    const auto sets = [&s](std::string_view text) { return s.count("jobset.x-k8s.io", "v1alpha2", "jobsets", text); };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto tick = [&] { timer.expires_after(std::chrono::milliseconds(1)); };
    for (; sets({}) == 0 && std::chrono::steady_clock::now() < end; co_await timer.async_wait(use_tuple)) tick();
    EXPECT_TRUE(s.make("trainjobs", "metadata: {name: new}\nspec: {runtimeRef: {name: torch, kind: TrainingRuntime}}"));
    for (; sets(R"("name":"new")") == 0 && std::chrono::steady_clock::now() < end; co_await timer.async_wait(use_tuple))
        tick();
    const std::size_t before = sets({});
    EXPECT_LT(before, many / 2) << "it waited for those of the start";
}

TEST(box, a_new_job_passes_those_of_the_start) {
    playground::box_options slow;
    slow.script = *sim::read_script("never");
    slow.faults = *sim::read_faults("always patch jobsets delay 20ms");
    box_scene s(std::move(slow));
    s.play(let_a_new_job_pass);
}

// Through the wire, where webhooks are called.
awaitable<void> refuse_by_webhook(box_scene& s) {
    EXPECT_TRUE(co_await s.ours.ready());
    auto user = kube::client::make(s.loop.get_executor(), s.at.config(), {}, base::null_logger());
    EXPECT_TRUE(user);
    const kube::resource train_jobs{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"};
    const auto refused = co_await (*user)->create(
        train_jobs, "default",
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"lost"},
        "spec":{"runtimeRef":{"name":"nowhere","kind":"TrainingRuntime"}}})");
    EXPECT_FALSE(refused);
    if (!refused) {
        EXPECT_NE(refused.error().message.find("validator.trainjob.trainer.kubeflow.org"), std::string::npos)
            << refused.error().message;
    }
    co_await (*user)->stop();
}

TEST(box, asks_the_operators_webhooks) {
    box_scene s(quick());
    s.play(refuse_by_webhook);
}

awaitable<void> refuse_strangers(box_scene& s) {
    kube::cluster_config stranger = s.at.config();
    stranger.user.token = "guessed";
    auto user = kube::client::make(s.loop.get_executor(), stranger, {}, base::null_logger());
    const auto said = co_await (*user)->get({"", "v1", "secrets", "Secret"}, {"kubeflow-system", "x"});
    EXPECT_EQ(said ? 200 : said.error().http_status, 401);
    co_await (*user)->stop();
}

TEST(box, lets_in_only_who_has_the_kubeconfig) {
    box_scene s(quick());
    s.play(refuse_strangers);
}

}  // namespace
}  // namespace cotrain
