// Events on their way to a server that takes, refuses or ignores them.
#include "reconcile/event_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/fake_api.hpp"

namespace cotrain::reconcile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

event_note note(std::string text, event_type type = event_type::warning) {
    return {{"trainer.kubeflow.org/v1alpha1", "TrainJob", "ns", "job", "u-1", "42"},
            type,
            "TrainJobResourcesCreationFailed",
            "Reconciling",
            std::move(text)};
}

awaitable<void> never(kube::fake_api&, net::incoming in) { co_await in.until_gone(); }

struct sinking {
    kube::fake_api api;

    explicit sinking(kube::fake_api::responder answer) : api(std::move(answer)) {
        api.options().retry.throttled_max = 0;
        api.options().retry.failing_max = 0;
    }
    using body = awaitable<void> (*)(kube::fake_api&, event_sink&);
    void run(body what) {
        api.run([this, what](kube::fake_api&, kube::client& c) { return around(this, &c, what); });
    }
    bool leads = true;
    bool busy = false;

   private:
    static awaitable<void> around(sinking* self, kube::client* c, body what) {
        kube::fake_api* const a = &self->api;
        base::task_group tasks(a->loop.get_executor());
        event_sink sink(
            tasks, *c, a->log, "trainer-trainjob-controller", "host",
            [self] { return self->leads ? std::optional(event_deadline) : std::nullopt; },
            [self] { return self->busy; });
        sink.start();
        co_await what(*a, sink);
        tasks.cancel();
        co_await tasks.join();
    }
};

awaitable<void> turn(kube::fake_api* api) {
    asio::steady_timer timer(api->loop, std::chrono::milliseconds(1));
    co_await timer.async_wait(use_tuple);
}

awaitable<void> settled(kube::fake_api* api, const event_sink* sink, std::uint64_t count) {
    while (sink->metrics().sent + sink->metrics().failed < count) co_await turn(api);
}

TEST(event_sink, creates_events_and_counts_repetitions_in_a_series) {
    sinking here(kube::answers({{201}}));
    here.run([](kube::fake_api& a, event_sink& sink) -> awaitable<void> {
        for (int i = 0; i < 5; ++i) sink.post(note("no luck"));
        sink.post(note("another text"));
        co_await settled(&a, &sink, 3);
        EXPECT_EQ(a.seen.size(), 3U);
        EXPECT_EQ(a.seen[0].head.method, "POST");
        EXPECT_THAT(a.seen[0].head.path, HasSubstr("/apis/events.k8s.io/v1/namespaces/ns/events"));
        EXPECT_EQ(a.seen[1].head.method, "PATCH");
        EXPECT_THAT(a.seen[1].body, HasSubstr(R"("count":2)"));
        EXPECT_EQ(a.seen[2].head.method, "POST");
        EXPECT_EQ(sink.recorder().metrics().counted, 3U);
        EXPECT_EQ(sink.metrics().dropped, 0U);
    });
}

TEST(event_sink, writes_nothing_while_another_replica_may_lead) {
    sinking here(kube::answers({{201}}));
    here.leads = false;
    here.run([](kube::fake_api& a, event_sink& sink) -> awaitable<void> {
        sink.post(note("no luck"));
        while (sink.metrics().dropped + sink.metrics().sent == 0) co_await turn(&a);
        EXPECT_EQ(sink.metrics().sent, 0U);
        EXPECT_EQ(sink.waiting(), 0U);
        EXPECT_EQ(a.seen.size(), 0U);
    });
}

TEST(event_sink, drops_what_a_slow_server_leaves_no_room_for) {
    sinking here(never);
    here.run([](kube::fake_api& a, event_sink& sink) -> awaitable<void> {
        for (int i = 0; i < 20; ++i) sink.post(note("normal " + std::to_string(i), event_type::normal));
        EXPECT_EQ(sink.waiting(), event_queue_normal_max);
        EXPECT_EQ(sink.metrics().dropped, 20 - event_queue_normal_max);
        for (int i = 0; i < 1000; ++i) sink.post(note("text " + std::to_string(i)));
        EXPECT_EQ(sink.waiting(), event_queue_max);
        while (a.seen.empty()) co_await turn(&a);
        EXPECT_EQ(sink.waiting(), event_queue_max - 1) << "one at a time";
    });
}

event_note end(int number) {
    event_note out = note("end " + std::to_string(number));
    out.kept = true;
    return out;
}

TEST(event_sink, drops_normal_events_while_others_go_first) {
    sinking here(never);
    here.busy = true;
    here.run([](kube::fake_api&, event_sink& sink) -> awaitable<void> {
        sink.post(note("normal", event_type::normal));
        EXPECT_EQ(sink.waiting(), 0U);
        sink.post(note("warning"));
        EXPECT_EQ(sink.waiting(), 1U);
        co_return;
    });
}

TEST(event_sink, keeps_every_end_of_a_job) {
    sinking here(never);
    here.run([](kube::fake_api&, event_sink& sink) -> awaitable<void> {
        for (int i = 0; i < 10'000; ++i) sink.post(end(i));
        sink.post(note("another warning"));
        EXPECT_EQ(sink.waiting(), 10'000U);
        EXPECT_EQ(sink.metrics().dropped, 1U);
        co_return;
    });
}

TEST(event_sink, tries_the_end_of_a_job_again_and_nothing_else) {
    sinking here(kube::answers({{500}, {500}, {201}}));
    here.run([](kube::fake_api& a, event_sink& sink) -> awaitable<void> {
        sink.post(note("no luck"));
        sink.post(end(1));
        co_await settled(&a, &sink, 3);
        EXPECT_EQ(sink.metrics().sent, 1U);
        EXPECT_EQ(sink.metrics().failed, 2U);
        EXPECT_EQ(a.seen.size(), 3U);
        if (a.seen.size() == 3) EXPECT_EQ(a.seen[1].body, a.seen[2].body);
    });
}

TEST(event_sink, makes_a_new_event_for_one_that_is_gone) {
    sinking here(kube::answers({{201}, {404}, {201}}));
    here.run([](kube::fake_api& a, event_sink& sink) -> awaitable<void> {
        for (std::uint64_t i = 1; i <= 3; ++i) {
            sink.post(note("no luck"));
            co_await settled(&a, &sink, i);
        }
        EXPECT_EQ(a.seen[1].head.method, "PATCH");
        EXPECT_EQ(a.seen[2].head.method, "POST");
    });
    EXPECT_THAT(here.api.lines, ElementsAre());
}

TEST(event_sink, says_once_that_events_are_refused) {
    sinking here(kube::answers({{403}}));
    here.run([](kube::fake_api& a, event_sink& sink) -> awaitable<void> {
        for (std::uint64_t i = 1; i <= 4; ++i) sink.post(note("text " + std::to_string(i)));
        co_await settled(&a, &sink, 4);
        EXPECT_EQ(sink.metrics().failed, 4U);
    });
    EXPECT_THAT(here.api.lines, ElementsAre(HasSubstr("cannot write an event")));
}

}  // namespace
}  // namespace cotrain::reconcile
