// Two candidates, each with its own connection, and one Lease on the real API server.
#include <gtest/gtest.h>

#include "integration/control.hpp"
#include "kube/client.hpp"
#include "reconcile/leader.hpp"
#include "support/run.hpp"

namespace cotrain::reconcile {
namespace {

using namespace std::chrono_literals;

constexpr kube::resource leases{"coordination.k8s.io", "v1", "leases", "Lease"};
constexpr kube::resource namespaces{"", "v1", "namespaces", "Namespace", false};

struct scene;

// A process of its own, as far as the server can tell.
struct candidate {
    std::unique_ptr<kube::client> api;
    base::task_group group;
    std::vector<bool> told;
    std::optional<leader> role;

    candidate(scene& s, std::string identity, election_timing timing);
    awaitable<void> end() {
        group.cancel();
        co_await group.join();
        co_await api->stop();
    }
};

struct scene {
    asio::io_context loop{1};
    std::string ns;
    base::random_source random{17};

    explicit scene(std::string name) : ns(std::move(name)) {}
    void run(awaitable<void> (*body)(scene&)) { test::run(loop, play(this, body)); }
    [[nodiscard]] std::unique_ptr<kube::client> connect() {
        auto made = kube::client::make(loop.get_executor(), test::real_cluster(), {}, base::null_logger());
        if (!made) throw std::runtime_error(made.error().message);
        return std::move(*made);
    }

   private:
    static awaitable<void> play(scene* self, awaitable<void> (*body)(scene&)) {
        const auto api = self->connect();
        auto created = co_await api->create(
            namespaces, "", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + self->ns + "\"}}");
        EXPECT_TRUE(created.has_value()) << created.error().message;
        co_await body(*self);
        EXPECT_TRUE((co_await api->remove(namespaces, {.name = self->ns})).has_value());
        co_await api->stop();
    }
};

candidate::candidate(scene& s, std::string identity, election_timing timing)
    : api(s.connect()), group(s.loop.get_executor()) {
    role.emplace(leader_tools{group, *api, s.random, base::null_logger()},
                 leader_options{s.ns, "trainer.kubeflow.org", std::move(identity), timing},
                 [this](bool leads) { told.push_back(leads); });
    role->start();
}

awaitable<std::string> lease_text(scene* s, candidate* by) {
    const auto got = co_await by->api->get(leases, {s->ns, "trainer.kubeflow.org"});
    EXPECT_TRUE(got.has_value());
    co_return got ? got->body : std::string();
}

// Long terms: only what is given back changes hands while this runs.
TEST(leader, gives_the_lease_back_when_it_stops) {
    scene here("leader-release");
    here.run([](scene& s) -> awaitable<void> {
        candidate first(s, "first", {100'000ms, 90'000ms, 200ms});
        EXPECT_TRUE(co_await first.role->acquired());
        candidate second(s, "second", {100'000ms, 90'000ms, 200ms});
        asio::steady_timer wait(s.loop);
        while (second.role->holder() != "first") {
            wait.expires_after(1ms);
            co_await wait.async_wait(use_tuple);
        }
        EXPECT_FALSE(second.role->leading());
        EXPECT_TRUE(co_await first.role->stop(30s));
        EXPECT_TRUE(co_await second.role->acquired());
        const std::string text = co_await lease_text(&s, &second);
        EXPECT_TRUE(text.contains(R"("holderIdentity":"second")")) << text;
        EXPECT_TRUE(text.contains(R"("leaseTransitions":1)")) << text;
        EXPECT_TRUE(text.contains(R"("leaseDurationSeconds":100)")) << text;
        EXPECT_EQ(first.told, (std::vector<bool>{true, false}));
        EXPECT_EQ(second.told, (std::vector<bool>{true}));
        EXPECT_TRUE(co_await second.role->stop(30s));
        co_await first.end();
        co_await second.end();
    });
}

TEST(leader, takes_over_from_one_that_died) {
    scene here("leader-takeover");
    here.run([](scene& s) -> awaitable<void> {
        candidate first(s, "first", {3'000ms, 2'000ms, 200ms});
        EXPECT_TRUE(co_await first.role->acquired());
        candidate second(s, "second", {3'000ms, 2'000ms, 200ms});
        // Its tasks end without a word, as with kill -9.
        co_await first.end();
        const auto died = std::chrono::steady_clock::now();
        EXPECT_TRUE(co_await second.role->acquired());
        EXPECT_FALSE(first.role->leading() && second.role->leading());
        EXPECT_GE(std::chrono::steady_clock::now() - died + 2s, 3s) << "a lease that may be in use was taken";
        EXPECT_TRUE((co_await lease_text(&s, &second)).contains(R"("holderIdentity":"second")"));
        co_await second.role->stop(30s);
        co_await second.end();
    });
}

// A server that is gone for a moment costs nobody the lead.
TEST(leader, survives_a_restart_of_the_server) {
    scene here("leader-restart");
    here.run([](scene& s) -> awaitable<void> {
        candidate only(s, "only", {100'000ms, 90'000ms, 100ms});
        EXPECT_TRUE(co_await only.role->acquired());
        static_cast<void>(co_await test::control("restart apiserver"));
        const std::string before = co_await lease_text(&s, &only);
        while (co_await lease_text(&s, &only) == before) {
        }
        EXPECT_TRUE(only.role->leading());
        EXPECT_EQ(only.told.size(), 1U);
        EXPECT_TRUE(co_await only.role->stop(30s));
        co_await only.end();
    });
}

}  // namespace
}  // namespace cotrain::reconcile
