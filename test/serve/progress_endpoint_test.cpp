// Progress reports over a real connection: who is let in, how often, and what happens while keys are fetched.
#include "serve/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/task_group.hpp"
#include "kube/fake_api.hpp"
#include "net/client.hpp"
#include "serve/tokens.hpp"

namespace cotrain::serve {
namespace {

using kube::fake_api;
using std::chrono::seconds;
using testing::Each;
using testing::HasSubstr;

constexpr std::int64_t job_created = 1'700'000'000;
constexpr const char* report = R"({"trainerStatus":{"progressPercentage":45}})";

const test_signer& signer() {
    static const test_signer one("ES256", "one");
    return one;
}

std::string token(const std::string& pod, std::int64_t issued = job_created + 10, const std::string& job = "one") {
    return signer().sign(R"({"iss":"https://issuer","exp":4000000000,"iat":)" + std::to_string(issued) +
                         R"(,"aud":["trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/)" + job +
                         R"(/status"],"kubernetes.io":{"namespace":"team","pod":{"name":")" + pod + "\"}}}");
}

// An API server whose keys come when they are let go, an endpoint of ours, and a Pod that reports.
struct scene {
    bool held = false;
    int keys_status = 200;
    int keys_asked = 0;
    base::signal let_go;
    fake_api api{[this](fake_api&, net::incoming in) { return answer(std::move(in)); }};
    net::client* pod = nullptr;

    awaitable<void> answer(net::incoming in) {
        const std::string path = in.head().path;
        if (path == "/openid/v1/jwks") {
            ++keys_asked;
            if (held) static_cast<void>(co_await let_go.wait());
            in.respond(keys_status, {}, signer().keys());
        } else if (path == "/.well-known/openid-configuration") {
            in.respond(200, {}, R"({"issuer":"https://issuer"})");
        } else {
            in.respond(200, {}, "{}");
        }
    }

    awaitable<int> post(std::string credential, std::string job = "one") {
        net::request r;
        r.method = "POST";
        r.path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/" + job + "/status";
        r.headers = {{"authorization", "Bearer " + credential}};
        r.body = report;
        const auto answer = co_await pod->send(std::move(r));
        co_return answer ? answer->status : 0;
    }
    awaitable<void> post_into(std::vector<int>* statuses) {
        statuses->push_back(co_await post(token("one-node-0-0-abcde")));
    }

    kube::rate_limit rate{};  // statusServer.qps and burst

    void run(const std::function<awaitable<void>(scene&)>& what) {
        api.run([this, &what](fake_api& a, kube::client& c) { return serve(&a, &c, &what); });
    }
    awaitable<void> serve(fake_api* a, kube::client* c, const std::function<awaitable<void>(scene&)>* what) {
        const auto jobs = [](const reported_job& job) -> std::optional<known_job> {
            if (job.name != "one") return std::nullopt;
            return known_job{std::chrono::sys_seconds(seconds(job_created)), {"node"}};
        };
        progress_endpoint endpoint(*c, rate, jobs, a->log);
        net::server server(
            a->loop.get_executor(), progress_endpoint::server_options(),
            [&endpoint](net::incoming in) { return endpoint.answer(std::move(in)); }, base::null_logger());
        EXPECT_TRUE(server.start());
        net::client_options with;
        with.peer = {"127.0.0.1", server.port()};
        net::client client(a->loop.get_executor(), std::move(with), base::null_logger());
        pod = &client;
        co_await (*what)(*this);
        co_await client.stop();
        co_await server.stop();
    }
    [[nodiscard]] int applied() const {
        return static_cast<int>(
            std::ranges::count_if(api.seen, [](const auto& each) { return each.head.method == "PATCH"; }));
    }
};

TEST(progress_endpoint, takes_reports_of_the_jobs_own_pods_only) {
    scene().run([](scene& s) -> awaitable<void> {
        EXPECT_EQ(co_await s.post(token("one-node-0-0-abcde")), 200);
        EXPECT_EQ(s.applied(), 1);
        EXPECT_EQ(co_await s.post(token("")), 403) << "a token of no Pod";
        EXPECT_EQ(co_await s.post(token("one-b-node-0-0-abcde")), 403) << "a Pod of another TrainJob";
        EXPECT_EQ(co_await s.post(token("one-node-0-0-abcde", job_created - 600)), 403) << "of a deleted namesake";
        EXPECT_EQ(co_await s.post(token("two-node-0-0-abcde", job_created, "two"), "two"), 404);
        EXPECT_EQ(s.applied(), 1);
    });
}

TEST(progress_endpoint, each_job_has_a_rate_of_its_own) {
    scene().run([](scene& s) -> awaitable<void> {
        std::vector<int> statuses;
        for (int i = 0; i < 50; ++i) co_await s.post_into(&statuses);
        EXPECT_GE(std::ranges::count(statuses, 429), 40);
        EXPECT_GE(std::ranges::count(statuses, 200), 5);
        EXPECT_EQ(std::ranges::count(statuses, 200), s.applied());
    });
}

TEST(progress_endpoint, all_jobs_share_a_rate) {
    scene here;
    here.rate = {.qps = 0.001, .burst = 2};
    here.run([](scene& s) -> awaitable<void> {
        std::vector<int> statuses;
        for (int i = 0; i < 3; ++i) co_await s.post_into(&statuses);
        EXPECT_THAT(statuses, testing::ElementsAre(200, 200, 429));
        EXPECT_EQ(s.applied(), 2);
    });
}

TEST(progress_endpoint, reports_wait_for_the_keys_that_are_being_fetched) {
    scene().run([](scene& s) -> awaitable<void> {
        s.held = true;
        std::vector<int> statuses;
        base::task_group pods(co_await asio::this_coro::executor);
        for (int i = 0; i < 5; ++i) pods.spawn("pod", s.post_into(&statuses));
        while (s.keys_asked == 0) co_await asio::post(asio::use_awaitable);
        for (int i = 0; i < 200; ++i) co_await asio::post(asio::use_awaitable);  // all of them have arrived
        EXPECT_TRUE(statuses.empty());
        s.held = false;
        s.let_go.notify_later();
        co_await pods.join();
        EXPECT_EQ(statuses.size(), 5U);
        EXPECT_THAT(statuses, Each(200));
        EXPECT_EQ(s.keys_asked, 1);
    });
}

TEST(progress_endpoint, without_keys_reports_are_to_come_later) {
    scene().run([](scene& s) -> awaitable<void> {
        s.keys_status = 403;
        for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await s.post(token("one-node-0-0-abcde")), 503);
        EXPECT_EQ(s.keys_asked, 1);
        EXPECT_EQ(s.applied(), 0);
    });
}

}  // namespace
}  // namespace cotrain::serve
