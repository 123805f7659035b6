// What the gate lets through, and for how long: nothing without the Lease, and nothing that outlives it.
#include "reconcile/write_gate.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "kube/fake_api.hpp"
#include "reconcile/leader.hpp"

namespace cotrain::reconcile {
namespace {

using namespace std::chrono_literals;
using time = std::optional<write_permit>;

const target job_set{&api::names::job_set, "ns", "job"};
constexpr const char* body = R"({"apiVersion":"v","kind":"K","metadata":{"name":"job"}})";

awaitable<void> never(kube::fake_api&, net::incoming in) { co_await in.until_gone(); }

// A write without a deadline would hang its test.
void wait_for_ever(kube::fake_api& api) {
    api.options().deadline = 1h;
    api.options().wire.drain = 1ms;
}

std::string said(const base::error* why) {
    if (why == nullptr) return "done";
    if (why->code == base::errc::canceled) return "closed";
    return why->code == base::errc::deadline ? "too late" : why->message;
}

// The outcome of each kind of write: apply, patch, remove.
awaitable<std::string> write_all(write_gate* gate) {
    const auto applied = co_await gate->apply(job_set, body, "uid");
    const auto patched = co_await gate->merge_patch(job_set, "status", "{}");
    const auto removed = co_await gate->remove(job_set, "uid");
    std::string out = said(applied ? nullptr : &applied.error());
    out.append(", ").append(said(patched ? nullptr : &patched.error()));
    co_return out.append(", ").append(said(removed ? nullptr : &removed.error()));
}

TEST(write_gate, is_closed_to_who_may_not_write) {
    kube::fake_api here(kube::answers({{}}));
    here.run([](kube::fake_api& s, kube::client& c) -> awaitable<void> {
        write_gate gate(c, [] { return time(); });
        EXPECT_FALSE(gate.leading());
        EXPECT_EQ(co_await write_all(&gate), "closed, closed, closed");
        EXPECT_TRUE(s.seen.empty());
        EXPECT_TRUE(co_await gate.get(job_set)) << "reading is for everybody";
        EXPECT_EQ(s.seen.size(), 1U);
    });
}

TEST(write_gate, asks_before_each_write) {
    kube::fake_api here(kube::answers({{}}));
    here.run([](kube::fake_api& s, kube::client& c) -> awaitable<void> {
        int asked = 0;
        write_gate gate(c, [&asked] { return ++asked == 2 ? time() : time(10s); });
        EXPECT_EQ(co_await write_all(&gate), "done, closed, done");
        EXPECT_EQ(s.seen.size(), 2U);
        EXPECT_EQ(s.seen[0].head.method, "PATCH");
        EXPECT_EQ(s.seen[1].head.method, "DELETE");
    });
}

TEST(write_gate, no_write_takes_longer_than_it_may) {
    kube::fake_api here(never);
    wait_for_ever(here);
    here.run([](kube::fake_api&, kube::client& c) -> awaitable<void> {
        write_gate gate(c, [] { return time(20ms); });
        EXPECT_EQ(co_await write_all(&gate), "too late, too late, too late");
    });
}

// The process was frozen between the permit and the write.
TEST(write_gate, nothing_goes_out_when_the_lease_may_be_anothers) {
    kube::fake_api here(kube::answers({{}}));
    here.run([](kube::fake_api& s, kube::client& c) -> awaitable<void> {
        write_gate gate(c, [] { return time(write_permit(10s, std::chrono::steady_clock::now())); });
        EXPECT_EQ(co_await write_all(&gate), "too late, too late, too late");
        EXPECT_TRUE(s.seen.empty());
    });
}

TEST(write_gate, waiting_for_a_turn_counts) {
    kube::fake_api here(kube::answers({{}}));
    wait_for_ever(here);
    here.options().limit = {.qps = 0.001, .burst = 1};
    here.run([](kube::fake_api& s, kube::client& c) -> awaitable<void> {
        write_gate gate(c, [] { return time(5s); });
        EXPECT_EQ(co_await write_all(&gate), "done, too late, too late");
        EXPECT_EQ(s.seen.size(), 1U);
    });
}

awaitable<void> write_once(write_gate* gate) { static_cast<void>(co_await gate->apply(job_set, body, "uid")); }

TEST(write_gate, knows_what_is_under_way) {
    kube::fake_api here(never);
    wait_for_ever(here);
    here.run([](kube::fake_api& s, kube::client& c) -> awaitable<void> {
        write_gate gate(c, [] { return time(1h); });
        base::task_group tasks(s.loop.get_executor());
        tasks.spawn("first", write_once(&gate));
        tasks.spawn("second", write_once(&gate));
        EXPECT_EQ(gate.under_way(), 2U);
        tasks.cancel();
        co_await tasks.join();
        EXPECT_EQ(gate.under_way(), 0U);
    });
}

TEST(write_gate, an_apply_says_which_object_it_means) {
    kube::fake_api here(kube::answers({{}, {}, {}}));
    here.run([](kube::fake_api& s, kube::client& c) -> awaitable<void> {
        write_gate gate(c, [] { return time(10s); });
        EXPECT_TRUE(co_await gate.apply(job_set, body, "u-1"));
        EXPECT_TRUE(co_await gate.apply(job_set, body, ""));
        EXPECT_FALSE(co_await gate.apply(job_set, "{}", "")) << "one that cannot say it is not sent";
        EXPECT_EQ(s.seen.size(), 2U);
        EXPECT_EQ(s.seen[0].body, R"({"apiVersion":"v","kind":"K","metadata":{"uid":"u-1","name":"job"}})");
        EXPECT_TRUE(s.seen[0].head.path.contains("force=true"));
        EXPECT_EQ(s.seen[1].body, R"({"apiVersion":"v","kind":"K","metadata":{"resourceVersion":"1","name":"job"}})");
        EXPECT_FALSE(s.seen[1].head.path.contains("force=true"));
    });
}

// Made where none is there, and never changed; and no answer brings back what is in one.
TEST(write_gate, secrets_are_made_and_never_read) {
    kube::fake_api here(kube::answers({{}, {}}));
    here.run([](kube::fake_api& s, kube::client& c) -> awaitable<void> {
        const target secret{&api::names::secret, "ns", "key"};
        write_gate gate(c, [] { return time(10s); });
        EXPECT_TRUE(co_await gate.apply(secret, body, ""));
        EXPECT_TRUE(co_await gate.get(secret));
        EXPECT_EQ(s.seen.size(), 2U);
        EXPECT_EQ(s.seen[0].head.method, "PATCH");
        EXPECT_EQ(s.seen[0].head.path, "/api/v1/namespaces/ns/secrets/key?fieldManager=trainer");
        EXPECT_TRUE(s.seen[0].body.contains(R"("resourceVersion":"1")")) << s.seen[0].body;
        EXPECT_EQ(s.seen[1].head.method, "GET");
        for (const auto& each : s.seen)
            EXPECT_EQ(each.header("accept"), "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        EXPECT_EQ(gate.counts(watch::kind::secret).applied, 1U);
    });
}

// Keeps the Lease of whoever wants it, until it falls silent; knows nothing else.
struct lease_keeper {
    bool silent = false;
    int writes = 0;  // of other objects

    static awaitable<void> serve(lease_keeper* self, net::incoming in) {
        if (self->silent) co_return co_await in.until_gone();
        if (in.head().path.contains("/jobsets/")) {
            ++self->writes;
            in.respond(200, {}, "{}");
        } else if (in.head().method == "GET") {
            in.respond(404, {}, "{}");
        } else {
            std::string lease(in.body());
            if (const auto at = lease.find(R"("metadata":{)");
                at != std::string::npos && !lease.contains("Version\":\"1"))
                lease.insert(at + 12, R"("resourceVersion":"1",)");
            in.respond(200, {}, lease);
        }
    }
};

awaitable<void> lose_the_lease(lease_keeper* keeper, kube::fake_api* s, kube::client* c) {
    base::task_group tasks(s->loop.get_executor());
    base::random_source random(1);
    leader me({tasks, *c, random, s->log}, {"ns", "lease", "me", {3000ms, 1500ms, 20ms}});
    write_gate gate(*c, [&me] { return me.may_write(); });
    EXPECT_EQ(co_await write_all(&gate), "closed, closed, closed");
    me.start();
    EXPECT_TRUE(co_await me.acquired());
    EXPECT_EQ(co_await write_all(&gate), "done, done, done");
    EXPECT_EQ(keeper->writes, 3);
    keeper->silent = true;
    EXPECT_FALSE(co_await gate.apply(job_set, body, "uid")) << "it ends with the Lease";
    while (gate.leading()) EXPECT_FALSE(co_await gate.apply(job_set, body, "uid"));
    keeper->silent = false;
    const std::size_t before = s->seen.size();
    EXPECT_EQ(co_await write_all(&gate), "closed, closed, closed");
    EXPECT_EQ(s->seen.size(), before);
    EXPECT_EQ(keeper->writes, 3);
    tasks.cancel();
    co_await tasks.join();
}

TEST(write_gate, nothing_is_written_after_the_lease_was_lost) {
    lease_keeper keeper;
    kube::fake_api here(
        [&keeper](kube::fake_api&, net::incoming in) { return lease_keeper::serve(&keeper, std::move(in)); });
    wait_for_ever(here);
    here.run([&keeper](kube::fake_api& s, kube::client& c) { return lose_the_lease(&keeper, &s, &c); });
}

}  // namespace
}  // namespace cotrain::reconcile
