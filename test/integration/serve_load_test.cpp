// TrainJobs are created at four fifths of what the API server can take, while serving certificate renewed, a replica is
// replaced and the API server restarts: none is refused that should have passed.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/task_group.hpp"
#include "integration/control.hpp"
#include "integration/serve_scene.hpp"
#include "support/tcp_proxy.hpp"

namespace cotrain::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr int in_flight = 16;
constexpr auto suspended = R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},"suspend":true})";

struct tally {
    int created = 0;
    int unreached = 0;  // the API server was away
    std::vector<std::string> refused;
};

awaitable<void> create(operator_scene* s, std::string name, tally* out) {
    const auto done = co_await s->api->create(
        kinds::train_job, s->ns,
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")" + name +
            R"("},"spec":)" + suspended + "}");
    if (done) {
        ++out->created;
    } else if (done.error().message.contains("webhook")) {
        out->refused.push_back(name + ": " + done.error().message);
    } else {
        ++out->unreached;
    }
}

awaitable<void> creator(operator_scene* s, std::string prefix, int from, int to, clock::time_point begin,
                        std::chrono::nanoseconds pace, tally* out) {
    asio::steady_timer timer(s->loop);
    for (int i = from; i < to; i += in_flight) {
        timer.expires_at(begin + pace * i);
        co_await timer.async_wait(asio::use_awaitable);
        co_await create(s, prefix + std::to_string(i), out);
    }
}

// Creates `count` jobs, one every `pace` by the clock (none: as fast as it goes), and says how long it took.
awaitable<double> create_all(operator_scene* s, std::string prefix, int count, std::chrono::nanoseconds pace,
                             tally* out) {
    const auto begin = clock::now();
    base::task_group tasks(s->loop.get_executor());
    for (int t = 0; t < in_flight; ++t) tasks.spawn("create", creator(s, prefix, t, count, begin, pace, out));
    co_await tasks.join();
    co_return std::chrono::duration<double>(clock::now() - begin).count();
}

awaitable<void> troubles(operator_scene& s, serve_scene& web, tcp_proxy& service, operator_child& second,
                         std::uint16_t second_port, std::chrono::duration<double> whole) {
    asio::steady_timer timer(s.loop);
    const auto pause = [&]() -> awaitable<void> {
        timer.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(whole / 5));
        co_await timer.async_wait(asio::use_awaitable);
    };
    co_await pause();
    // A serving certificate that is no good any more is replaced under the same authority.
    EXPECT_TRUE(co_await s.api->merge_patch(kinds::secret, {.ns = operator_ns, .name = certificate_secret},
                                            R"({"data":{"tls.crt":"eA==","tls.key":"eA=="}})"));
    co_await pause();
    // A replica goes as Kubernetes takes it away: out of the Service, then SIGTERM.
    service.redirect(second_port);
    EXPECT_EQ(co_await s.child->stop(), 0);
    co_await pause();
    EXPECT_TRUE(co_await s.start_operator(web.config("")));
    service.redirect(web.webhook_port);
    EXPECT_EQ(co_await second.stop(), 0);
    co_await pause();
    static_cast<void>(co_await control("restart apiserver"));
}

awaitable<void> load(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    const std::uint16_t first_port = web.webhook_port;
    tcp_proxy service(s.loop.get_executor(), first_port);
    web.webhook_port = service.port();
    co_await web.install_webhooks();
    web.webhook_port = first_port;
    serve_scene other(s);
    EXPECT_TRUE(co_await s.start_operator(web.config("")));
    operator_child second(s.loop, other.config(""), s.kubeconfig);
    EXPECT_TRUE(co_await second.said("caches synced"));
    EXPECT_TRUE(co_await web.created_within("first", 30s)) << web.said;

    tally all;
    constexpr int probes = 300;
    const double rate = probes / co_await create_all(&s, "probe-", probes, {}, &all);
    const int jobs = std::clamp(static_cast<int>(rate * 12), 300, 6000);
    const auto pace = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / (0.8 * rate)));
    base::task_group tasks(s.loop.get_executor());
    tasks.spawn("troubles", troubles(s, web, service, second, other.webhook_port, pace * jobs));
    const double took = co_await create_all(&s, "load-", jobs, pace, &all);
    co_await tasks.join();
    std::printf("%.0f creates/s at most; %d at 80 %% in %.1f s: %d created, %d met the API server's restart\n", rate,
                jobs, took, all.created - probes, all.unreached);
    for (const std::string& each : all.refused) ADD_FAILURE() << each;
    EXPECT_GT(all.created, jobs / 2);
    co_await web.remove_webhooks();
    co_await service.stop();
}

TEST(serve, nothing_is_refused_while_parts_are_replaced_under_load) { operator_scene("serve-load").play(load); }

}  // namespace
}  // namespace cotrain::test
