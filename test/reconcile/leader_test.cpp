// Leaders on a Lease that a fake server keeps: taking, keeping, losing and giving back.
#include "reconcile/leader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <optional>
#include <stdexcept>

#include "api/lease.hpp"
#include "doc/json.hpp"
#include "kube/fake_api.hpp"

namespace cotrain::reconcile {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view path = "/apis/coordination.k8s.io/v1/namespaces/ns/leases";

// One Lease as an API server keeps it.
class lease_server {
   public:
    lease_server() : api([this](kube::fake_api&, net::incoming in) { return serve(this, std::move(in)); }) {
        api.options().retry.throttled_max = 0;
        api.options().retry.failing_max = 0;
        api.options().wire.drain = 1ms;
    }
    using body = awaitable<void> (*)(lease_server&);
    void run(body what) {
        api.run([this, what](kube::fake_api&, kube::client& c) { return around(this, &c, what); });
    }
    // Lives until all tasks have ended.
    leader& add(std::string identity, std::function<void(bool)> on_change = {}) {
        return leaders_.emplace_back(leader_tools{*group_, *client_, random, api.log},
                                     leader_options{"ns", "lease", std::move(identity), timing}, std::move(on_change));
    }
    [[nodiscard]] std::string holder() const {
        doc::arena memory;
        return lease ? std::string(api::decode_lease(*doc::parse_json(memory, *lease))->holder) : "nobody";
    }
    awaitable<void> turn() {
        asio::steady_timer timer(api.loop, 1ms);
        co_await timer.async_wait(use_tuple);
    }

    kube::fake_api api;
    std::optional<std::string> lease;
    std::deque<int> refusals;  // of the next writes, which then have no effect
    bool silent = false;       // no answers
    bool watchable = false;
    unsigned writes = 0;
    unsigned watches = 0;
    election_timing timing{100'000ms, 90'000ms, 20ms};  // longer than any test may take
    base::random_source random{3};

   private:
    static awaitable<void> around(lease_server* self, kube::client* c, body what) {
        base::task_group tasks(self->api.loop.get_executor());
        self->group_ = &tasks;
        self->client_ = c;
        co_await what(*self);
        tasks.cancel();
        co_await tasks.join();
        self->leaders_.clear();
    }
    static awaitable<void> serve(lease_server* self, net::incoming in) {
        if (self->silent) co_return co_await in.until_gone();
        const std::string& method = in.head().method;
        EXPECT_TRUE(in.head().path.starts_with(path)) << in.head().path;
        if (in.head().path.contains("watch=")) {
            ++self->watches;
            if (!self->watchable) co_return in.respond(403, {}, "{}");
            EXPECT_TRUE(in.head().path.contains("fieldSelector=metadata.name%3Dlease")) << in.head().path;
            EXPECT_TRUE(in.head().path.contains("resourceVersion=")) << in.head().path;
            co_return co_await self->tell(std::move(in));
        }
        if (method == "GET") {
            self->lease ? in.respond(200, {}, *self->lease) : in.respond(404, {}, "{}");
            co_return;
        }
        ++self->writes;
        if (!self->refusals.empty()) {
            in.respond(self->refusals.front(), {}, "{}");
            self->refusals.pop_front();
            co_return;
        }
        if (!self->store(std::string(in.body()), method == "POST")) co_return in.respond(409, {}, "{}");
        in.respond(200, {}, *self->lease);
    }
    awaitable<void> tell(net::incoming in) {
        in.begin(200, {});
        auto seen = lease;
        for (;;) {
            co_await turn();
            if (seen == lease) continue;
            const std::string type = !lease ? "DELETED" : !seen ? "ADDED" : "MODIFIED";
            const std::string event = R"({"type":")" + type + R"(","object":)" + lease.value_or(*seen) + "}\n";
            seen = lease;
            if (!co_await in.write(event)) co_return;
        }
    }
    bool store(const std::string& given, bool create) {
        doc::arena memory;
        auto wanted = *api::decode_lease(*doc::parse_json(memory, given));
        if (create == lease.has_value()) return false;
        if (!create &&
            wanted.meta.resource_version != api::decode_lease(*doc::parse_json(memory, *lease))->meta.resource_version)
            return false;
        const std::string version = std::to_string(++version_);
        wanted.meta.resource_version = version;
        lease = doc::to_json(api::encode_lease(memory, wanted));
        return true;
    }

    int version_ = 10;
    base::task_group* group_ = nullptr;
    kube::client* client_ = nullptr;
    std::list<leader> leaders_;
};

TEST(leader, takes_the_lease_and_renews_it) {
    lease_server here;
    here.run([](lease_server& s) -> awaitable<void> {
        std::vector<bool> told;
        leader& me = s.add("me", [&told](bool leads) { told.push_back(leads); });
        EXPECT_FALSE(me.leading());
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        EXPECT_TRUE(me.leading());
        EXPECT_EQ(s.holder(), "me");
        while (s.writes < 4) co_await s.turn();
        EXPECT_TRUE(me.leading());
        EXPECT_TRUE(co_await me.stop());
        EXPECT_FALSE(me.leading());
        EXPECT_EQ(s.holder(), "");
        EXPECT_THAT(told, ElementsAre(true, false));
        EXPECT_FALSE(me.lost());
    });
}

TEST(leader, keeps_what_others_wrote_into_the_lease) {
    lease_server here;
    here.lease = R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"lease","namespace":"ns",)"
                 R"("labels":{"team":"a"},"resourceVersion":"10"},"spec":{"holderIdentity":"","leaseTransitions":6,)"
                 R"("strategy":"OldestEmulationVersion"}})";
    here.run([](lease_server& s) -> awaitable<void> {
        leader& me = s.add("me");
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        EXPECT_THAT(*s.lease, testing::AllOf(HasSubstr(R"("labels":{"team":"a"})"), HasSubstr("OldestEmulation"),
                                             HasSubstr(R"("leaseTransitions":7)")));
        co_await me.stop();
    });
}

TEST(leader, follows_until_the_other_gives_it_back) {
    lease_server here;
    here.run([](lease_server& s) -> awaitable<void> {
        leader& first = s.add("first");
        leader& second = s.add("second");
        first.start();
        EXPECT_TRUE(co_await first.acquired());
        second.start();
        while (second.holder() != "first") co_await s.turn();
        EXPECT_FALSE(second.leading());
        EXPECT_TRUE(co_await first.stop());
        EXPECT_TRUE(co_await second.acquired());
        EXPECT_FALSE(first.leading());
        EXPECT_EQ(s.holder(), "second");
        EXPECT_TRUE(co_await second.stop());
    });
}

TEST(leader, takes_over_when_the_other_falls_silent) {
    lease_server here;
    here.lease = R"({"metadata":{"name":"lease","resourceVersion":"10"},"spec":{"holderIdentity":"gone",)"
                 R"("leaseDurationSeconds":1,"renewTime":"2020-01-01T00:00:00.000000Z"}})";
    here.timing = {1000ms, 900ms, 20ms};
    here.run([](lease_server& s) -> awaitable<void> {
        const auto began = std::chrono::steady_clock::now();
        leader& me = s.add("me");
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        EXPECT_GE(std::chrono::steady_clock::now() - began, 1s) << "old times in a lease are no proof of death";
        co_await me.stop();
    });
}

TEST(leader, leads_no_more_when_it_cannot_renew) {
    lease_server here;
    here.timing = {3000ms, 1500ms, 20ms};
    here.run([](lease_server& s) -> awaitable<void> {
        std::vector<bool> told;
        leader& me = s.add("me", [&told](bool leads) { told.push_back(leads); });
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        s.silent = true;
        while (told.size() < 2) co_await s.turn();
        EXPECT_FALSE(me.leading());
        EXPECT_TRUE(me.lost());
        EXPECT_GT(me.failures(), 0U);
        EXPECT_FALSE(co_await me.acquired()) << "it never will again";
        EXPECT_FALSE(co_await me.stop());
    });
}

TEST(leader, survives_conflicts_refusals_and_a_deleted_lease) {
    lease_server here;
    here.run([](lease_server& s) -> awaitable<void> {
        leader& me = s.add("me");
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        s.refusals = {409, 500, 403};
        const unsigned before = s.writes;
        while (s.writes < before + 5) co_await s.turn();
        EXPECT_TRUE(me.leading());
        EXPECT_EQ(me.failures(), 2U);
        s.lease.reset();
        while (!s.lease) co_await s.turn();
        EXPECT_EQ(s.holder(), "me");
        EXPECT_TRUE(me.leading());
        co_await me.stop();
    });
}

TEST(leader, gives_way_when_somebody_else_has_it) {
    lease_server here;
    here.run([](lease_server& s) -> awaitable<void> {
        leader& me = s.add("me");
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        s.lease = R"({"metadata":{"name":"lease","resourceVersion":"999"},"spec":{"holderIdentity":"thief"}})";
        while (!me.lost()) co_await s.turn();
        EXPECT_FALSE(me.leading());
        EXPECT_EQ(me.holder(), "thief");
    });
}

// Renewals that would show it are far away.
TEST(leader, leads_no_more_as_soon_as_its_lease_is_deleted_or_taken) {
    for (const bool deleted : {true, false}) {
        lease_server here;
        here.timing.retry_period = 30'000ms;
        here.watchable = true;
        here.lease = deleted ? "" : "taken";
        here.run([](lease_server& s) -> awaitable<void> {
            const bool deletes = std::exchange(s.lease, std::nullopt)->empty();
            std::vector<bool> told;
            leader& me = s.add("me", [&told](bool leads) { told.push_back(leads); });
            me.start();
            EXPECT_TRUE(co_await me.acquired());
            while (s.watches == 0) co_await s.turn();
            for (int i = 0; i < 3; ++i) co_await s.turn();
            EXPECT_TRUE(me.leading());
            const unsigned writes = s.writes;
            s.lease.reset();
            if (!deletes)
                s.lease = R"({"metadata":{"name":"lease","resourceVersion":"999"},"spec":{"holderIdentity":"thief"}})";
            while (told.size() < 2) co_await s.turn();
            EXPECT_FALSE(me.leading());
            EXPECT_FALSE(me.may_write());
            EXPECT_TRUE(me.lost());
            EXPECT_EQ(me.holder(), deletes ? "" : "thief");
            EXPECT_FALSE(co_await me.acquired());
            EXPECT_FALSE(co_await me.stop()) << "there is nothing to give back";
            EXPECT_EQ(s.writes, writes) << "it is not made again";
            EXPECT_THAT(told, ElementsAre(true, false));
        });
    }
}

TEST(leader, its_own_renewals_and_its_end_are_no_loss) {
    lease_server here;
    here.watchable = true;
    here.run([](lease_server& s) -> awaitable<void> {
        leader& me = s.add("me");
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        while (s.watches == 0) co_await s.turn();
        for (const unsigned until = s.writes + 4; s.writes < until;) co_await s.turn();
        EXPECT_TRUE(me.leading());
        EXPECT_TRUE(co_await me.stop());
        EXPECT_FALSE(me.lost());
        EXPECT_EQ(s.holder(), "");
    });
}

TEST(leader, without_the_right_to_watch_it_says_so_once_and_goes_on) {
    lease_server here;
    here.run([](lease_server& s) -> awaitable<void> {
        leader& me = s.add("me");
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        for (const unsigned until = s.writes + 8; s.writes < until;) co_await s.turn();
        EXPECT_EQ(s.watches, 1U) << "the next try is minutes away";
        EXPECT_TRUE(me.leading());
        EXPECT_TRUE(co_await me.stop());
    });
    const testing::Matcher<std::string> said = HasSubstr("cannot watch the Lease");
    EXPECT_THAT(here.api.lines, testing::Contains(said).Times(1));
}

TEST(leader, stops_in_time_when_nobody_answers) {
    lease_server here;
    here.run([](lease_server& s) -> awaitable<void> {
        leader& me = s.add("me");
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        s.silent = true;
        EXPECT_FALSE(co_await me.stop(50ms));
        EXPECT_FALSE(me.leading());
        EXPECT_EQ(s.holder(), "me");
    });
}

TEST(leader, leaves_the_lease_to_run_out) {
    lease_server here;
    here.run([](lease_server& s) -> awaitable<void> {
        std::vector<bool> told;
        leader& me = s.add("me", [&told](bool leads) { told.push_back(leads); });
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        EXPECT_TRUE(me.may_write().has_value());
        me.leave();
        EXPECT_FALSE(me.leading());
        EXPECT_FALSE(me.may_write());
        EXPECT_THAT(told, ElementsAre(true, false));
        EXPECT_FALSE(co_await me.stop()) << "others may not take it at once";
        EXPECT_EQ(s.holder(), "me");
        EXPECT_FALSE(me.lost());
    });
}

TEST(leader, one_that_was_never_started_stops_at_once) {
    lease_server here;
    here.run([](lease_server& s) -> awaitable<void> {
        EXPECT_FALSE(co_await s.add("me").stop(1h));
        EXPECT_EQ(s.writes, 0U);
    });
}

TEST(leader, reads_a_lease_again_that_makes_no_sense) {
    lease_server here;
    here.lease = R"({"metadata":{"name":"lease"},"spec":{"leaseDurationSeconds":"long"}})";
    here.run([](lease_server& s) -> awaitable<void> {
        leader& me = s.add("me");
        me.start();
        while (me.failures() < 2) co_await s.turn();
        EXPECT_FALSE(me.leading());
        s.lease.reset();
        EXPECT_TRUE(co_await me.acquired());
        co_await me.stop();
    });
    const testing::Matcher<std::string> said = HasSubstr("cannot read or update the Lease");
    EXPECT_THAT(here.api.lines, testing::Contains(said).Times(1)) << "the same again is told once a minute";
}

TEST(leader, identities_differ) {
    base::random_source random(1);
    const std::string a = make_identity("host", random);
    EXPECT_NE(a, make_identity("host", random));
    EXPECT_THAT(a, testing::MatchesRegex("host_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

// A log that throws where a Lease was just read or written: the attempt has no known outcome then.
TEST(leader, attempts_that_end_in_an_exception_are_made_again) {
    lease_server here;
    here.api.log = base::logger(
        [](void* to, std::string_view text) {
            auto& lines = *static_cast<std::vector<std::string>*>(to);
            lines.emplace_back(text);
            if (text.contains("Lease holder changed") && lines.size() < 4) throw std::runtime_error("the log is full");
        },
        &here.api.lines, base::level::info);
    here.run([](lease_server& s) -> awaitable<void> {
        leader& me = s.add("me", [](bool leads) {
            if (leads) throw std::runtime_error("who follows is not ready");
        });
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        while (s.writes < 4) co_await s.turn();
        EXPECT_TRUE(me.leading());
        EXPECT_GE(me.failures(), 1U);
        EXPECT_TRUE(co_await me.stop());
        EXPECT_EQ(s.holder(), "");
    });
    EXPECT_THAT(here.api.lines, testing::Contains(HasSubstr("\"in\":\"leader election\"")));
    EXPECT_THAT(here.api.lines, testing::Contains(HasSubstr("who follows is not ready")));
}

// Who always throws cannot renew, and leads no more when the Lease's time is over.
TEST(leader, exceptions_without_end_still_lose_the_lease) {
    lease_server here;
    here.timing = {600ms, 300ms, 20ms};
    here.api.log = base::logger(
        [](void* to, std::string_view text) {
            auto& lines = *static_cast<std::vector<std::string>*>(to);
            lines.emplace_back(text);
            if (text.contains("cannot read or update the Lease")) throw std::runtime_error("the log is full");
        },
        &here.api.lines, base::level::info);
    here.run([](lease_server& s) -> awaitable<void> {
        std::vector<bool> told;
        leader& me = s.add("me", [&told](bool leads) { told.push_back(leads); });
        me.start();
        EXPECT_TRUE(co_await me.acquired());
        s.refusals.assign(10'000, 500);
        while (!me.lost()) co_await s.turn();
        EXPECT_FALSE(me.may_write());
        EXPECT_FALSE(co_await me.stop());
        EXPECT_THAT(told, ElementsAre(true, false));
    });
    EXPECT_THAT(here.api.lines, testing::Contains(HasSubstr("\"in\":\"leader election\"")));
}

}  // namespace
}  // namespace cotrain::reconcile
