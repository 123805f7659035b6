// Two replicas and a leader that dies or freezes at the worst moments: one Lease, no write by who does not hold it.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/random.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"

namespace cotrain::test {
namespace {

constexpr auto torch_job = R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},"trainer":{"numNodes":2}})";

constexpr auto config = R"(apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
leaderElection:
  leaderElect: true
  resourceNamespace: operator-replicas
  leaseDuration: 8s
  renewDeadline: 6s
  retryPeriod: 1s
)";

constexpr double slack_seconds = 2;  // of a busy machine

// The kubeconfig of the run, acting as somebody: so the audit log knows the replicas apart.
class acting_as {
   public:
    explicit acting_as(const std::string& name) {
        std::ifstream in(test_variable("COTRAIN_TEST_KUBECONFIG"));
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        doc::arena memory;
        doc::editor document = doc::editor::of(memory, *doc::parse_yaml(memory, text));
        doc::editor user = document.child("users").child(std::size_t{0}).child("user");
        user.set("as", name);
        user.ensure_array("as-groups").append("system:masters");
        file_ = (std::filesystem::temp_directory_path() / ("cotrain-" + name + std::to_string(::getpid()))).string();
        std::ofstream(file_) << doc::to_json(document);
    }
    ~acting_as() { std::filesystem::remove(file_); }
    acting_as(const acting_as&) = delete;
    acting_as& operator=(const acting_as&) = delete;
    [[nodiscard]] const std::string& file() const { return file_; }

   private:
    std::string file_;
};

struct replica {
    std::string name;
    acting_as identity;
    std::unique_ptr<operator_child> process;

    explicit replica(std::string n) : name(n), identity(n) {}
    void start(operator_scene& s) { process = std::make_unique<operator_child>(s.loop, config, identity.file()); }
};

// Who wrote the Lease last, when a request came in, has to be who sent it.
void expect_writes_by_holders_only(std::vector<audit_entry> log) {
    std::ranges::stable_sort(log, {}, &audit_entry::received);
    std::string holder;
    int writes = 0;
    for (const audit_entry& e : log) {
        if (!e.by_operator() || !e.writes() || e.code >= 400) continue;
        if (e.is_lease()) {
            holder = e.user;
            continue;
        }
        ++writes;
        EXPECT_EQ(e.user, holder) << e.verb << " " << e.resource << " " << e.name << " at " << e.received;
    }
    EXPECT_GT(writes, 0);
}

// Nothing twice: one JobSet and one snapshot a job, each made by one request.
void expect_nothing_twice(const std::vector<audit_entry>& log) {
    std::map<std::string, int> made;
    for (const audit_entry& e : log)
        if (e.by_operator() && e.verb == "patch" && e.resource == "jobsets" && e.code == 201)
            ++made[e.ns + "/" + e.name];
    for (const auto& [name, times] : made) EXPECT_EQ(times, 1) << name;
}

awaitable<void> take_over(operator_scene* s, std::vector<std::unique_ptr<replica>>* all, int fault, int round) {
    const auto leads = [](const std::unique_ptr<replica>& r) { return r->process->log().contains("\"leading\""); };
    auto leader = std::ranges::find_if(*all, leads);
    EXPECT_TRUE(leader != all->end());
    if (leader == all->end()) co_return;
    auto& other = **std::ranges::find_if(*all, [&](const auto& r) { return r != *leader; });
    // Before that it takes no part in the election, and could not tell how old the Lease is.
    EXPECT_TRUE(co_await other.process->said("caches synced", std::chrono::seconds(30)));
    // In the middle of work.
    co_await s->create_jobs("a-" + std::to_string(round) + "-", 0, 20, torch_job);
    (*leader)->process->signal(fault);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(co_await other.process->said("\"leading\"", std::chrono::seconds(30)));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::printf("takeover after signal %d: %.2f s (leaseDuration 8 s)\n", fault, took.count());
    EXPECT_LT(took.count(), 8 + slack_seconds) << "the Lease's time, and a read and a write of it";
    co_await s->create_jobs("b-" + std::to_string(round) + "-", 0, 20, torch_job);
    EXPECT_TRUE(co_await s->until_count(kinds::job_set, 40 * (round + 1)));
    if (fault == SIGSTOP) {
        // It wakes up in another term: it must notice before it writes, and end.
        (*leader)->process->signal(SIGCONT);
        EXPECT_EQ(co_await (*leader)->process->ended(std::chrono::seconds(30)), 3);
    }
    (*leader)->start(*s);
}

TEST(operator_replicas, another_takes_over_and_nobody_writes_without_the_lease) {
    operator_scene scene("operator-replicas");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        audit_log audit(test_variable("COTRAIN_TEST_AUDIT"));
        std::vector<std::unique_ptr<replica>> all;
        for (const char* name : {"replica-a", "replica-b"}) {
            all.push_back(std::make_unique<replica>(name));
            all.back()->start(s);
            if (all.size() > 1) continue;
            EXPECT_TRUE(co_await all[0]->process->said("\"leading\""));
        }
        base::random_source random(full_run() ? 7 : 1);
        const int rounds = full_run() ? 10 : 2;
        for (int i = 0; i < rounds && !testing::Test::HasFailure(); ++i) {
            const int fault = rounds == 2 ? (i == 0 ? SIGKILL : SIGSTOP) : (random.next() % 2 == 0 ? SIGKILL : SIGSTOP);
            co_await take_over(&s, &all, fault, i);
        }
        for (auto& r : all) static_cast<void>(co_await r->process->stop());
        const auto log = audit.read();
        expect_writes_by_holders_only(log);
        expect_nothing_twice(log);
    });
}

TEST(operator_replicas, a_graceful_stop_hands_over_at_once) {
    operator_scene scene("operator-handover");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        std::string text = config;
        text.replace(text.find("operator-replicas"), 17, "operator-handover");
        operator_child first(s.loop, text);
        EXPECT_TRUE(co_await first.said("\"leading\""));
        operator_child second(s.loop, text);
        EXPECT_TRUE(co_await second.said("caches synced"));
        EXPECT_EQ(second.log().find("\"leading\""), std::string::npos);
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_EQ(co_await first.stop(), 0);
        const std::chrono::duration<double> stopped = std::chrono::steady_clock::now() - begun;
        EXPECT_TRUE(co_await second.said("\"leading\""));
        std::printf("graceful stop: %.2f s\n", stopped.count());
        EXPECT_LT(stopped.count(), 5);
        EXPECT_EQ(co_await second.stop(), 0);
    });
}

}  // namespace
}  // namespace cotrain::test
