// Jobs whose runtime is not kept because its namespace has too many bytes of them: they say so, and start when there is
// room. Compiled runtimes have a bound of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::string large_runtime(const std::string& name, std::size_t bytes) {
    std::string text(torch_runtime);
    text.replace(text.find("name: rt"), 8,
                 "name: " + name + ", annotations: {large: \"" + std::string(bytes, 'x') + "\"}");
    return text;
}

struct trainjob_left_out : testing::Test {
    trainjob_world w{watch::spec_bounds{.namespace_bytes = 4096, .all_bytes = 16384}};
};

TEST_F(trainjob_left_out, says_why_and_starts_when_the_runtime_is_kept_again) {
    w.apply_yaml(large_runtime("rt", 3000));
    w.apply_yaml(large_runtime("other", 2000));
    w.apply_yaml(train_job());
    w.settle();
    EXPECT_EQ(w.condition("ResourcesReady"), "False");
    EXPECT_EQ(w.condition("ResourcesReady", "reason"), "RuntimesTooLarge");
    EXPECT_THAT(w.condition("ResourcesReady", "message"),
                AllOf(HasSubstr("TrainingRuntime ns/rt of 3"), HasSubstr("is not kept"), HasSubstr("in namespace ns"),
                      HasSubstr("4096"), HasSubstr("make it smaller or delete others")));
    EXPECT_THAT(w.events, Contains(HasSubstr("TrainingRuntime ns/rt of 3")));
    EXPECT_FALSE(w.objects.contains(set));

    w.erase("TrainingRuntime ns/other");
    w.deliver();
    EXPECT_EQ(w.known->store(watch::kind::training_runtime).room()->next_wanted(watch::no_text), w.texts.find("ns/rt"));
    w.patch("TrainingRuntime ns/rt", R"({"metadata":{"labels":{"a":"b"}}})");  // whatever shows it again
    w.settle();
    EXPECT_TRUE(w.objects.contains(set));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST_F(trainjob_left_out, goes_on_by_its_snapshot) {
    w.apply_yaml(large_runtime("rt", 3000));
    w.apply_yaml(train_job("  suspend: true\n"));
    w.settle();
    ASSERT_TRUE(w.objects.contains(set));
    w.apply_yaml(large_runtime("other", 2000));
    w.settle();
    w.restart();
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.settle();
    EXPECT_THAT(w.objects[set], HasSubstr("\"suspend\":false"));
    EXPECT_EQ(w.condition("ResourcesReady"), "-");
}

TEST_F(trainjob_left_out, takes_the_old_finalizer_off_a_runtime_that_is_not_kept) {
    w.apply_yaml(large_runtime("rt", 9000));
    w.patch("TrainingRuntime ns/rt",
            R"({"metadata":{"finalizers":["a.test/first","trainer.kubeflow.org/resource-in-use"]}})");
    w.deliver();
    w.taken();
    runtime_reconciler tend{*w.known, w, base::null_logger()};
    asio::io_context loop;
    const key k{.name = w.texts.find("ns/rt"), .kind = static_cast<std::uint32_t>(watch::kind::training_runtime)};
    EXPECT_EQ(test::run(loop, tend.reconcile(k, {})).kind, outcome::what::done);
    EXPECT_THAT(w.taken(), ElementsAre("get TrainingRuntime ns/rt", "patch TrainingRuntime ns/rt"));
    EXPECT_THAT(w.objects["TrainingRuntime ns/rt"], HasSubstr(R"("finalizers":["a.test/first"])"));
}

struct runtimes_in_use : trainjob_case {
    static constexpr std::size_t bytes_max = 1U << 20U;
    runtime_cache cache{*w.known, bytes_max};

    [[nodiscard]] base::result<runtime_cache::compiled> live(const std::string& name) {
        api::train_job of;
        of.meta.ns = "ns";
        of.spec.runtime.kind = "TrainingRuntime";
        of.spec.runtime.name = name;
        return cache.live(of);
    }
};

TEST_F(runtimes_in_use, are_kept_up_to_a_bound_the_last_used_longest) {
    constexpr int count = 20;
    for (int i = 0; i < count; ++i) w.apply_yaml(large_runtime("rt-" + std::to_string(i), 100'000));
    w.deliver();
    const auto first = live("rt-0");
    ASSERT_TRUE(first);
    for (int i = 1; i < count; ++i) {
        ASSERT_TRUE(live("rt-" + std::to_string(i)));
        EXPECT_EQ(*live("rt-0"), *first) << "used again and again";
        EXPECT_LE(cache.bytes(), bytes_max);
    }
    const std::weak_ptr<const runtime::compiled_runtime> early = *live("rt-1");
    EXPECT_TRUE(cache.use(early));
    for (int i = 2; i < count; ++i) ASSERT_TRUE(live("rt-" + std::to_string(i)));
    EXPECT_EQ(early.lock(), nullptr);
    EXPECT_TRUE(live("rt-1")) << "it is made again";
}

TEST_F(runtimes_in_use, jobs_share_a_snapshot_and_hold_none_back) {
    begin();
    const auto bytes = w.reconciler->known_snapshot(w.texts.find("ns/job"));
    ASSERT_NE(bytes, nullptr);
    w.restart();
    EXPECT_EQ(w.reconciler->known_snapshot(w.texts.find("ns/job")), nullptr);
    w.patch(job, R"({"spec":{"suspend":true}})");
    w.settle();
    EXPECT_NE(w.reconciler->known_snapshot(w.texts.find("ns/job")), nullptr);
}

}  // namespace
}  // namespace cotrain::reconcile
