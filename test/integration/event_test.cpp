// Events on the real API server: whole, counted in a series, and readable by those who know the older kind only.
#include <gtest/gtest.h>

#include "integration/control.hpp"
#include "kube/client.hpp"
#include "reconcile/event_sink.hpp"
#include "support/run.hpp"

namespace cotrain::reconcile {
namespace {

constexpr kube::resource events{"events.k8s.io", "v1", "events", "Event"};
constexpr kube::resource core_events{"", "v1", "events", "Event"};
constexpr kube::resource namespaces{"", "v1", "namespaces", "Namespace", false};
constexpr std::string_view ns = "event-sink";

event_note note(std::string text) {
    return {{"trainer.kubeflow.org/v1alpha1", "TrainJob", std::string(ns), "job",
             "6f1c9a52-8a7e-4d0b-9d5c-0123456789ab", "42"},
            event_type::warning,
            "TrainJobResourcesCreationFailed",
            "Reconciling",
            std::move(text)};
}

awaitable<void> settled(const event_sink* sink, std::uint64_t count) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (sink->metrics().sent + sink->metrics().failed < count) {
        timer.expires_after(std::chrono::milliseconds(1));
        co_await timer.async_wait(use_tuple);
    }
}

awaitable<void> play(asio::io_context* loop) {
    auto api = kube::client::make(loop->get_executor(), test::real_cluster(), {}, base::null_logger());
    if (!api) throw std::runtime_error(api.error().message);
    kube::client& client = **api;
    const std::string space =
        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + std::string(ns) + "\"}}";
    EXPECT_TRUE((co_await client.create(namespaces, "", space)).has_value());

    base::task_group group(loop->get_executor());
    event_sink sink(group, client, base::null_logger(), "trainer-trainjob-controller", "host-1");
    sink.start();
    for (int i = 0; i < 10; ++i) sink.post(note("apply JobSet: 403 Forbidden"));
    sink.post(note("another text \"in quotes\"\nand two lines"));
    co_await settled(&sink, 3);
    EXPECT_EQ(sink.metrics().sent, 3U);

    const auto listed = co_await client.list(events, ns);
    EXPECT_TRUE(listed.has_value());
    const std::string body = listed ? listed->body : std::string();
    for (const std::string_view part :
         {R"("reason":"TrainJobResourcesCreationFailed")", R"("action":"Reconciling")", R"("type":"Warning")",
          R"("reportingController":"trainer-trainjob-controller")", R"("reportingInstance":"host-1")",
          R"("note":"apply JobSet: 403 Forbidden")", R"("series":{"count":2,)", R"(\"in quotes\" and two lines)"})
        EXPECT_TRUE(body.contains(part)) << part << " is not in " << body;
    const auto older = co_await client.list(core_events, ns, {.field_selector = "involvedObject.name=job"});
    EXPECT_TRUE(older && older->body.contains(R"("involvedObject":{"kind":"TrainJob")"));

    // Somebody deletes them: the next repetition is a new one.
    EXPECT_TRUE(older && older->body.contains(R"("items":[)"));
    net::request clear;
    clear.method = "DELETE";
    clear.path = "/apis/events.k8s.io/v1/namespaces/" + std::string(ns) + "/events";
    EXPECT_TRUE((co_await client.perform({clear, "delete all events"})).has_value());
    sink.post(note("another text \"in quotes\"\nand two lines"));
    co_await settled(&sink, 4);
    EXPECT_EQ(sink.metrics().failed, 1U);
    sink.post(note("another text \"in quotes\"\nand two lines"));
    co_await settled(&sink, 5);
    const auto anew = co_await client.list(events, ns);
    EXPECT_TRUE(anew && anew->body.contains("in quotes"));

    group.cancel();
    co_await group.join();
    EXPECT_TRUE((co_await client.remove(namespaces, {.name = ns})).has_value());
    co_await client.stop();
}

TEST(event_sink, writes_what_people_can_read) {
    asio::io_context loop{1};
    test::run(loop, play(&loop));
}

}  // namespace
}  // namespace cotrain::reconcile
