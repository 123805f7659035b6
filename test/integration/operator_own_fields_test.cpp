// Fields of our own on a real API server: through the hands of a client with the Go types of the Kubeflow Trainer, as
// Kueue is one, and of users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>

#include "admission/own_fields.hpp"
#include "api/names.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "integration/operator_sim_child.hpp"
#include "integration/serve_scene.hpp"

namespace cotrain::test {
namespace {

using namespace std::chrono_literals;
using doc::editor;
using doc::ref;
namespace names = api::names;

constexpr kube::resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                     "CustomResourceDefinition", false};
constexpr auto definition_time = 60s;
constexpr int tries = 20;

// A value that the API server takes, for each of our fields.
const std::map<std::string_view, std::string_view>& samples() {
    static const std::map<std::string_view, std::string_view> all{
        {names::overrides_annotation,
         R"([{"targetJobs":[{"name":"node"}],"spec":{"nodeSelector":{"pool":"spot"},"tolerations":[{"key":"gpu",)"
         R"("operator":"Exists"}]}}])"},
        {names::ttl_annotation, "600"}};
    return all;
}

std::string job(const std::string& name, bool suspend) {
    return R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")" + name +
           R"("},"spec":{"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},"suspend":)" +
           (suspend ? "true" : "false") + "}}";
}

class scene {
   public:
    explicit scene(operator_scene& in) : in_(in) {}

    // A job that has one of our fields, with the value of samples().
    [[nodiscard]] std::string with(const std::string& manifest, const admission::own_field& field) {
        editor out = editor::of(memory_, *doc::parse_json_copy(memory_, manifest));
        editor above = out;
        for (const auto step : field.path.first(field.path.size() - 1)) above = above.ensure_object(step);
        above.set(field.path.back(), sample(field));
        return doc::to_json(out);
    }
    [[nodiscard]] ref sample(const admission::own_field& field) {
        const auto found = samples().find(field.copy);
        if (found == samples().end()) {
            ADD_FAILURE() << field.copy << ": this field needs a sample";
            return ref::make_bool(true);
        }
        return *doc::parse_json_copy(memory_, found->second);
    }
    [[nodiscard]] awaitable<ref> get(std::string name) {
        const auto got = co_await in_.api->get(kinds::train_job, {.ns = in_.ns, .name = name});
        EXPECT_TRUE(got) << (got ? "" : got.error().message);
        co_return got ? *doc::parse_json_copy(memory_, got->body) : ref{};
    }
    [[nodiscard]] awaitable<bool> create(std::string manifest) {
        const auto made = co_await in_.api->create(kinds::train_job, in_.ns, manifest);
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        co_return made.has_value();
    }
    [[nodiscard]] awaitable<std::string> patch(std::string name, std::string body) {
        const auto done = co_await in_.api->merge_patch(kinds::train_job, {.ns = in_.ns, .name = name}, body);
        co_return done ? std::string() : done.error().message;
    }
    [[nodiscard]] awaitable<void> apply(std::string name, std::string manifest) {
        const auto done = co_await in_.api->apply(kinds::train_job, {.ns = in_.ns, .name = name}, manifest, false,
                                                  {.field_manager = "argocd-controller"});
        EXPECT_TRUE(done) << (done ? "" : done.error().message);
    }
    // As Kueue does it, with another try where the operator wrote the status meanwhile.
    [[nodiscard]] awaitable<void> update_as_typed_client(std::string name, bool suspend) {
        for (int i = 0; i < tries; ++i) {
            const ref now = co_await get(name);
            const auto done = co_await in_.api->update(kinds::train_job, {.ns = in_.ns, .name = name},
                                                       doc::to_json(typed(now, suspend)));
            if (!done && done.error().http_status == 409) continue;
            EXPECT_TRUE(done) << name << ": " << (done ? "" : done.error().message);
            co_return;
        }
        ADD_FAILURE() << name << ": a conflict each time";
    }
    void kubectl(const std::string& words, const std::string& manifest) {
        const finished done = run_shell(test_variable("COTRAIN_TEST_KUBECTL") + " --kubeconfig " +
                                        test_variable("COTRAIN_TEST_KUBECONFIG") + " -n " + in_.ns + " " + words +
                                        " -f " + files_.write("job.json", manifest));
        EXPECT_EQ(done.code, 0) << done.output;
    }
    // That the job has the field as it was made, or that nothing of it is left.
    [[nodiscard]] awaitable<void> expect(std::string name, admission::own_field field, bool there,
                                         std::string_view when) {
        const ref now = co_await get(name);
        ref value = now;
        for (const auto step : field.path) value = value.get(step);
        const ref copy = now.get({"metadata", "annotations", field.copy});
        if (there) {
            EXPECT_TRUE(equal(value, sample(field))) << when << ": " << doc::to_json(now);
            EXPECT_TRUE(copy.is_string()) << when;
            EXPECT_TRUE(admission::has_fields_kept(now)) << when;
        } else {
            EXPECT_FALSE(value || copy || admission::has_fields_kept(now)) << when << ": " << doc::to_json(now);
        }
    }

   private:
    // What Go's types leave of a job, with the change that Kueue makes.
    ref typed(ref now, bool suspend) {
        const finished passed = run_shell(typed_ + " < " + files_.write("job.json", doc::to_json(now)));
        const auto parsed = doc::parse_json_copy(memory_, passed.output);
        if (!parsed) throw std::runtime_error(passed.output);
        EXPECT_FALSE(admission::has_fields_kept(*parsed));
        editor out = editor::of(memory_, *parsed);
        out.child("spec").set("suspend", suspend);
        return doc::freeze(memory_, out);
    }

    operator_scene& in_;
    doc::arena memory_;
    temp_dir files_;
    std::string typed_ =
        (std::filesystem::path(test_variable("COTRAIN_TEST_CRDS")).parent_path() / "bin/typed").string();
};

// {"spec":{"a":{"b":null}}}
std::string removing(std::span<const std::string_view> path) {
    std::string out = "null";
    for (const auto step : std::views::reverse(path)) out = "{\"" + std::string(step) + "\":" + out + "}";
    return out;
}

// Admitted, at work, stopped, and admitted again, as Kueue does it.
awaitable<void> pass_through_a_typed_client(scene* s, admission::own_field field, std::string name) {
    if (!co_await s->create(s->with(job(name, true), field))) co_return;
    co_await s->expect(name, field, true, "created");
    for (const bool suspend : {true, false, false, true, false}) {
        co_await s->update_as_typed_client(name, suspend);
        co_await s->expect(name, field, true, "written by a typed client");
    }
}

// Once: the copy in the annotation is not applied beside the field.
bool tolerates_once(const std::string& job_sets, std::string_view name) {
    doc::arena memory;
    const auto list = doc::parse_json(memory, job_sets);
    if (!list) return false;
    for (const ref each : list->get("items").items()) {
        if (each.get({"metadata", "name"}).as_string() != name || each.get({"spec", "suspend"}).as_bool(true)) continue;
        return count_of(doc::to_json(each.get("spec")), R"("key":"gpu")") == 1;
    }
    return false;
}

// After a typed client's update, every kind of user can take the field away as before.
awaitable<void> be_removed_by_users(scene* s, admission::own_field field, std::string prefix) {
    const std::string patched = prefix + "-patched";
    if (!co_await s->create(s->with(job(patched, true), field))) co_return;
    co_await s->update_as_typed_client(patched, true);
    EXPECT_EQ(co_await s->patch(patched, removing(field.path)), "");
    co_await s->expect(patched, field, false, "after a merge patch");

    const std::string applied = prefix + "-applied";
    co_await s->apply(applied, s->with(job(applied, true), field));
    co_await s->update_as_typed_client(applied, true);
    co_await s->expect(applied, field, true, "applied, and written by a typed client");
    co_await s->apply(applied, job(applied, true));
    co_await s->expect(applied, field, false, "after a server-side apply without it");

    const std::string local = prefix + "-local";
    s->kubectl("apply", s->with(job(local, true), field));
    co_await s->update_as_typed_client(local, true);
    s->kubectl("apply", job(local, true));
    co_await s->expect(local, field, false, "after kubectl apply without it");

    const std::string replaced = prefix + "-replaced";
    s->kubectl("create", s->with(job(replaced, true), field));
    co_await s->update_as_typed_client(replaced, true);
    s->kubectl("replace", job(replaced, true));
    co_await s->expect(replaced, field, false, "after kubectl replace without it");
}

awaitable<void> fields_of_our_own(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    co_await web.install_webhooks();
    EXPECT_TRUE(co_await s.start_operator(web.config("")));
    EXPECT_TRUE(co_await web.created_within("first", 30s)) << web.said;
    scene jobs(s);
    int number = 0;
    for (const auto& field : admission::own_fields()) {
        const std::string prefix = "f" + std::to_string(++number);
        co_await pass_through_a_typed_client(&jobs, field, prefix);
        if (field.copy == names::overrides_annotation) {
            EXPECT_TRUE(co_await s.until(
                kinds::job_set, [=](const std::string& all) { return tolerates_once(all, prefix); }, 30s));
        }
        co_await be_removed_by_users(&jobs, field, prefix);
    }
    co_await web.remove_webhooks();
}

TEST(own_fields_in_cluster, pass_through_typed_clients_and_obey_users) {
    operator_scene("own-fields").play(fields_of_our_own);
}

constexpr std::string_view rules_path =
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations";

// Whether the TTL of this job may be taken away, as soon as the definition's change is in force.
awaitable<bool> until_removal(operator_scene* s, std::string name, bool refused) {
    const auto due = std::chrono::steady_clock::now() + definition_time;
    asio::steady_timer timer(s->loop);
    do {
        const auto said =
            co_await s->api->merge_patch(kinds::train_job, {.ns = s->ns, .name = name},
                                         R"({"spec":{"ttlSecondsAfterFinished":null}})", {.dry_run = true});
        if (said.has_value() != refused) co_return true;
        timer.expires_after(50ms);
        co_await timer.async_wait(asio::use_awaitable);
    } while (std::chrono::steady_clock::now() < due);
    co_return false;
}

awaitable<void> immutable_field(operator_scene& s) {
    serve_scene web(s);
    co_await web.prepare();
    co_await web.install_webhooks();
    EXPECT_TRUE(co_await s.start_operator(web.config("")));
    EXPECT_TRUE(co_await web.created_within("first", 30s)) << web.said;
    scene jobs(s);
    const auto& ttl = *std::ranges::find(admission::own_fields(), names::ttl_annotation, &admission::own_field::copy);
    EXPECT_TRUE(co_await jobs.create(jobs.with(job("fixed", true), ttl)));
    constexpr kube::location at{.name = "trainjobs.trainer.kubeflow.org"};
    const std::string rule =
        R"_({"rule":"has(self.ttlSecondsAfterFinished) == has(oldSelf.ttlSecondsAfterFinished)","message":"stays"})_";
    const auto ruled = co_await s.api->json_patch(
        definitions, at, R"([{"op":"add","path":")" + std::string(rules_path) + R"(","value":[)" + rule + "]}]");
    EXPECT_TRUE(ruled) << (ruled ? "" : ruled.error().message);
    EXPECT_TRUE(co_await until_removal(&s, "fixed", true)) << "the rule is not in force";
    co_await jobs.update_as_typed_client("fixed", false);
    co_await jobs.expect("fixed", ttl, true, "written by a typed client");
    const auto freed =
        co_await s.api->json_patch(definitions, at, R"([{"op":"remove","path":")" + std::string(rules_path) + R"("}])");
    EXPECT_TRUE(freed) << (freed ? "" : freed.error().message);
    EXPECT_TRUE(co_await until_removal(&s, "fixed", false));
    co_await web.remove_webhooks();
}

// Rules of the definition are checked after the mutating webhook: an update that lost an immutable field passes.
TEST(own_fields_in_cluster, come_back_before_rules_of_immutability_are_checked) {
    operator_scene("own-fields-immutable").play(immutable_field);
}

}  // namespace
}  // namespace cotrain::test
