// A plugin from outside (examples/plugin) in an operator of its own, and built-in plugins that are switched off.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "cotrain/operator.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "plugins/builtin.hpp"
#include "spot.hpp"

namespace cotrain::test {
namespace {

constexpr std::string_view head = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n";
constexpr kube::location spot_map(const operator_scene& s) { return {.ns = s.ns, .name = "cheap-spot"}; }

// How often it was asked for the objects of suspended jobs. No built-in plugin wakes these when a JobSet changes.
int asked = 0;

struct queue_watcher {
    static constexpr std::string_view name = "QueueWatcher";
    static constexpr std::array event_sources{
        runtime::event_source{&api::names::job_set, runtime::event_source::wakes::suspended_in_namespace}};
    [[nodiscard]] base::result<> build(runtime::info&, const api::train_job& job, const runtime::observed&,
                                       runtime::object_list&) const {
        if (job.spec.suspend) ++asked;
        return {};
    }
};

// The operator on the scene's own loop.
class own_operator {
   public:
    explicit own_operator(operator_scene& s, runtime::plugin_maker plugins) {
        operator_settings settings{.kubeconfig = test_variable("COTRAIN_TEST_KUBECONFIG"),
                                   .configuration = std::string(head) +
                                                    "webhook: {enabled: false}\nmetrics: {bindAddress: '0'}\n"
                                                    "health: {healthProbeBindAddress: '0'}\n"
                                                    "certManagement: {enable: false}\nnamespaces: [" +
                                                    s.ns + "]\n",
                                   .plugins = plugins};
        auto made = embedded_operator::make(s.loop, settings, base::null_logger());
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        if (made) inside_ = std::move(*made);
        if (inside_) asio::co_spawn(s.loop, play(this), asio::detached);
    }
    [[nodiscard]] awaitable<void> stop(operator_scene* s) {
        if (!inside_) co_return;
        inside_->stop();
        asio::steady_timer timer(s->loop);
        while (!ended_) {
            timer.expires_after(std::chrono::milliseconds(10));
            co_await timer.async_wait(asio::use_awaitable);
        }
    }

   private:
    static awaitable<void> play(own_operator* own) {
        static_cast<void>(co_await own->inside_->run());
        own->ended_ = true;
    }
    std::unique_ptr<embedded_operator> inside_;
    bool ended_ = false;
};

std::string job_of(std::string_view name, std::string_view spec) {
    std::string out = R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")";
    return out.append(name).append(R"("},"spec":)").append(spec).append("}");
}

// "metadata.uid" and "data.nodes" of the plugin's child; empty where there is none.
awaitable<std::pair<std::string, std::string>> notes_of(operator_scene* s) {
    const auto found = co_await s->api->get(kinds::config_map, spot_map(*s));
    doc::arena memory;
    const auto read = found ? doc::parse_json_copy(memory, found->body) : base::result<doc::ref>();
    if (!found || !read) co_return std::pair<std::string, std::string>{};
    co_return std::pair{std::string(read->get({"metadata", "uid"}).as_string()),
                        std::string(read->get({"data", "nodes"}).as_string())};
}

awaitable<bool> until_notes(operator_scene* s, std::function<bool(const std::string&, const std::string&)> good) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    asio::steady_timer timer(s->loop);
    while (std::chrono::steady_clock::now() < due) {
        const auto [uid, nodes] = co_await notes_of(s);
        if (good(uid, nodes)) co_return true;
        timer.expires_after(std::chrono::milliseconds(20));
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return false;
}

TEST(operator_plugin, a_plugin_of_another_program_runs_in_an_operator_of_its_own) {
    operator_scene scene("operator-plugin");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        own_operator own(s, &plugins::builtin_with<example::spot, queue_watcher>::make);
        const std::string spec =
            R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},"trainer":{"numNodes":2,"env":[{"name":"SPOT_ALLOWED","value":"true"}]}})";
        const auto made = co_await s.api->create(kinds::train_job, s.ns, job_of("cheap", spec));
        EXPECT_TRUE(made);
        // Applied, and its own hand is seen in the Pods.
        EXPECT_TRUE(co_await until_notes(&s, [](const auto&, const auto& nodes) { return nodes == "2"; }));
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
        EXPECT_EQ(count_of(co_await s.list(kinds::job_set), R"("key":"spot.example.com/machine")"), 1);
        // Deleted with its job: the job owns it, which is what the garbage collector goes by.
        const auto map = co_await s.api->get(kinds::config_map, spot_map(s));
        const auto job = co_await s.api->get(kinds::train_job, {.ns = s.ns, .name = "cheap"});
        EXPECT_TRUE(map && job);
        if (!map || !job) co_return co_await own.stop(&s);
        doc::arena memory;
        const doc::ref owner = doc::parse_json_copy(memory, map->body)->get({"metadata", "ownerReferences"}).at(0);
        EXPECT_EQ(owner.get("uid").as_string(),
                  doc::parse_json_copy(memory, job->body)->get({"metadata", "uid"}).as_string());
        EXPECT_TRUE(owner.get("controller").as_bool(false));
        // Repaired when it is changed, made again when it is deleted.
        EXPECT_TRUE(co_await s.api->merge_patch(kinds::config_map, spot_map(s), R"({"data":{"nodes":"7"}})"));
        EXPECT_TRUE(co_await until_notes(&s, [](const auto&, const auto& nodes) { return nodes == "2"; }));
        const std::string first = (co_await notes_of(&s)).first;
        EXPECT_TRUE(co_await s.api->remove(kinds::config_map, spot_map(s)));
        EXPECT_TRUE(co_await until_notes(
            &s, [first](const auto& uid, const auto& nodes) { return !uid.empty() && uid != first && nodes == "2"; }));
        co_await own.stop(&s);
    });
}

TEST(operator_plugin, jobs_are_woken_by_the_kinds_that_a_plugin_names) {
    operator_scene scene("operator-plugin-wakes");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        asked = 0;
        own_operator own(s, &plugins::builtin_with<queue_watcher>::make);
        co_await s.create_many("waits-", 1,
                               R"({"suspend":true,"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})");
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));
        const auto settled = [](const std::string& all) { return count_of(all, R"("reason":"Suspended")") == 1; };
        EXPECT_TRUE(co_await s.until(kinds::train_job, settled));
        const int before = asked;
        EXPECT_GT(before, 0);
        co_await s.create_many("runs-", 1, R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})");
        // The plan may come after the JobSet's last event: each round trip gives the operator, on the same loop, a
        // turn.
        const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (asked == before && std::chrono::steady_clock::now() < due) (void)co_await s.list(kinds::job_set);
        EXPECT_GT(asked, before);
        co_await own.stop(&s);
    });
}

struct unknown_kind {
    static constexpr std::string_view name = "UnknownKind";
    static constexpr api::resource_type pods{
        .group = "", .version = "v1", .kind = "Pod", .plural = "pods", .api_version = "v1"};
    static constexpr std::array children{runtime::child{&pods, "-extra"}};
    [[nodiscard]] base::result<> build(runtime::info&, const api::train_job&, const runtime::observed&,
                                       runtime::object_list&) const {
        return {};
    }
};

TEST(operator_plugin, a_kind_that_is_not_known_ends_the_start) {
    asio::io_context loop(1);
    const auto made = embedded_operator::make(
        loop,
        {.kubeconfig = test_variable("COTRAIN_TEST_KUBECONFIG"), .plugins = &plugins::builtin_with<unknown_kind>::make},
        base::null_logger());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "a plugin declares Pod, of which the operator keeps no records");
}

TEST(operator_plugin, a_plugin_that_is_switched_off_is_named_to_those_who_need_it) {
    operator_scene scene("operator-plugin-off");
    scene.play(+[](operator_scene& s) -> awaitable<void> {
        EXPECT_TRUE(co_await s.start_operator(std::string(head) + "plugins: {disabled: [MPI]}\n"));
        co_await s.create_many("mpi-", 1, R"({"runtimeRef":{"name":"mpi","kind":"TrainingRuntime"}})");
        co_await s.create_many("torch-", 1, R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})");
        EXPECT_TRUE(co_await s.until(kinds::train_job, [](const std::string& all) {
            return count_of(all, "the runtime needs plugin MPI, which the operator's configuration switches off") ==
                   2;  // condition and message
        }));
        EXPECT_TRUE(co_await s.until_count(kinds::job_set, 1));  // the other's
        EXPECT_EQ(co_await s.count(kinds::secret), 0);
    });
}

}  // namespace
}  // namespace cotrain::test
