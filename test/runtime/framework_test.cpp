// Phases run in order, over the plugins that take part in them, and stop at the first error.
#include "runtime/framework.hpp"

#include <gtest/gtest.h>

#include "doc/json.hpp"
#include "doc/yaml.hpp"

namespace cotrain::runtime {
namespace {

// What ran, in order.
std::vector<std::string>& calls() {
    static std::vector<std::string> list;
    return list;
}

struct first {
    static constexpr std::string_view name = "First";
    bool fail = false;
    [[nodiscard]] base::result<> enforce_ml_policy(info&, const api::train_job&) const {
        calls().emplace_back("first.ml");
        if (fail) return base::fail(base::errc::invalid, "no");
        return {};
    }
    [[nodiscard]] base::result<> identify_pod_network(info&, const api::train_job&) const {
        calls().emplace_back("first.network");
        return {};
    }
};

bool needed_by_torch(const compiled_runtime& r) { return r.ml() != nullptr && r.ml()->torch.has_value(); }

struct second {
    static constexpr std::string_view name = "Second";
    static constexpr std::array children{child{&api::names::secret, "-extra", needed_by_torch, true}};
    static constexpr std::array event_sources{
        event_source{&api::names::limit_range, event_source::wakes::suspended_in_namespace}};
    static constexpr std::array permissions{permission{&api::names::secret, "get"}};
    [[nodiscard]] static bool needed_by(const compiled_runtime& r) { return needed_by_torch(r); }
    [[nodiscard]] base::result<> enforce_ml_policy(info&, const api::train_job&) const {
        calls().emplace_back("second.ml");
        return {};
    }
    [[nodiscard]] base::result<> enforce_pod_group_policy(info&, const api::train_job&) const {
        calls().emplace_back("second.groups");
        return {};
    }
    [[nodiscard]] base::result<> sync_parallelism(info&) const {
        calls().emplace_back("second.sync");
        return {};
    }
    [[nodiscard]] base::result<> build(info& i, const api::train_job& job, const observed&, object_list& out) const {
        calls().emplace_back("second.build");
        out.push_back(finish(api::names::secret, child_name(job, "-extra"),
                             new_child(i.memory(), api::names::secret, child_name(job, "-extra"), job)));
        return {};
    }
    void validate(const info&, const review&, verdict& out) const { out.warn("careful"); }
};

static_assert(enforces_ml_policy<first> && !builds_objects<first> && !validates_jobs<first>);
static_assert(builds_objects<second> && validates_jobs<second> && has_event_sources<second>);

class phases : public testing::Test {
   protected:
    phases() {
        calls().clear();
        runtime = compiled_runtime::compile(yaml("{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, "
                                                 "metadata: {name: rt}, spec: {template: {spec: {replicatedJobs: "
                                                 "[{name: node}]}}}}"))
                      .value();
        job = api::decode_train_job(yaml("{metadata: {name: job, namespace: ns, uid: u}, spec: {runtimeRef: {name: "
                                         "rt}}}"))
                  .value();
    }
    doc::ref yaml(std::string_view text) { return doc::parse_yaml(memory, text).value(); }

    doc::arena memory;
    std::shared_ptr<const compiled_runtime> runtime;
    api::train_job job;
    observed seen;
};

TEST_F(phases, run_in_order) {
    const framework<first, second> f;
    const auto objects = f.new_objects(memory, job, *runtime, seen);
    ASSERT_TRUE(objects) << objects.error().message;
    EXPECT_EQ(calls(), (std::vector<std::string>{"first.ml", "second.ml", "second.groups", "first.network",
                                                 "second.sync", "second.build"}));
    ASSERT_EQ(objects->size(), 2U);
    EXPECT_EQ((*objects)[0].name, "job-runtime-snapshot");
    EXPECT_EQ((*objects)[1].name, "job-extra");
}

TEST_F(phases, the_order_of_plugins_is_the_order_of_the_list) {
    const framework<second, first> f;
    ASSERT_TRUE(f.runtime_info(memory, job, *runtime));
    EXPECT_EQ(calls(), (std::vector<std::string>{"second.ml", "first.ml", "second.groups", "first.network"}));
}

TEST_F(phases, stop_at_the_first_error_and_name_the_plugin) {
    const framework<first, second> f(first{.fail = true}, second{});
    const auto objects = f.new_objects(memory, job, *runtime, seen);
    ASSERT_FALSE(objects);
    EXPECT_EQ(objects.error().message, "First: no");
    EXPECT_EQ(calls(), std::vector<std::string>{"first.ml"});
}

TEST_F(phases, make_no_snapshot_twice_and_adopt_nothing) {
    const framework<first, second> f;
    observed_child have{&api::names::config_map, "job-runtime-snapshot", child_state::ours};
    seen.children = {&have, 1};
    EXPECT_EQ(f.new_objects(memory, job, *runtime, seen)->size(), 1U);
    have.state = child_state::foreign;
    EXPECT_FALSE(f.new_objects(memory, job, *runtime, seen));
    have = {&api::names::secret, "job-extra", child_state::foreign};
    const auto refused = f.new_objects(memory, job, *runtime, seen);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("Secret job-extra exists"), std::string::npos) << refused.error().message;
    EXPECT_EQ(refused.error().again, base::retry::later);
}

TEST_F(phases, validation_collects_from_all) {
    const framework<first, second> f;
    const auto verdict = f.validate_objects(memory, {.job = job}, *runtime);
    EXPECT_TRUE(verdict.accepted());
    EXPECT_EQ(verdict.warnings, std::vector<std::string>{"careful"});
}

TEST_F(phases, leave_an_immutable_child_alone) {
    const framework<first, second> f;
    const observed_child have[] = {{&api::names::config_map, "job-runtime-snapshot", child_state::ours},
                                   {&api::names::secret, "job-extra", child_state::ours}};
    seen.children = have;
    const auto objects = f.new_objects(memory, job, *runtime, seen);
    ASSERT_TRUE(objects) << objects.error().message;
    EXPECT_TRUE(objects->empty());
}

struct secretive {
    static constexpr std::string_view name = "Secretive";
    [[nodiscard]] base::result<> build(info& i, const api::train_job& job, const observed&, object_list& out) const {
        const std::string own = child_name(job, "-own");
        out.push_back(finish(api::names::config_map, own, new_child(i.memory(), api::names::config_map, own, job)));
        return {};
    }
};

TEST_F(phases, make_nothing_that_no_plugin_declares) {
    const framework<secretive> f;
    const auto objects = f.new_objects(memory, job, *runtime, seen);
    ASSERT_FALSE(objects);
    EXPECT_EQ(objects.error().message, "ConfigMap job-own is none of the children that its plugin declares");
}

TEST(framework, gathers_what_plugins_declare) {
    const framework<first, second> f;
    ASSERT_EQ(f.children().size(), 2U);
    EXPECT_EQ(f.children()[0].suffix, "-runtime-snapshot");  // the framework's own
    EXPECT_EQ(f.children()[1].suffix, "-extra");
    ASSERT_EQ(f.event_sources().size(), 1U);
    EXPECT_EQ(f.event_sources()[0].type->kind, "LimitRange");
    ASSERT_EQ(f.permissions().size(), 2U);
    EXPECT_EQ(f.permissions()[1].type->kind, "Secret");
}

struct clash {
    static constexpr std::array children{child{&api::names::secret, "-extra"}};
};
constexpr child without_type[] = {child{nullptr, "-x"}};
constexpr child upper_case[] = {child{&api::names::secret, "-X"}};
static_assert(good_children(second::children));
static_assert(!good_children(declared_by_all<child, second, clash>()));
static_assert(!good_children(without_type) && !good_children(upper_case));

TEST_F(phases, a_runtime_that_needs_a_plugin_which_is_switched_off_is_refused) {
    using plugins = framework<first, second>;
    const auto f = plugins::make({.disabled = {"Second"}});
    ASSERT_TRUE(f) << f.error().message;
    EXPECT_TRUE((*f)->runtime_info(memory, job, *runtime));
    EXPECT_EQ(calls(), (std::vector<std::string>{"first.ml", "first.network"}));
    EXPECT_TRUE((*f)->validate_objects(memory, {.job = job}, *runtime).warnings.empty());

    const auto torch = compiled_runtime::compile(yaml("{apiVersion: trainer.kubeflow.org/v1alpha1, kind: "
                                                      "TrainingRuntime, metadata: {name: rt}, spec: {mlPolicy: {torch: "
                                                      "{}}, template: {spec: {replicatedJobs: [{name: node}]}}}}"))
                           .value();
    const std::string why =
        "the runtime needs plugin Second, which the operator's configuration switches off (plugins.disabled)";
    const auto refused = (*f)->new_objects(memory, job, *torch, seen);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, why);
    EXPECT_TRUE((*f)->validate_objects(memory, {.job = job}, *torch).message().ends_with(why));
    const api::train_job before = job;
    EXPECT_TRUE((*f)->validate_objects(memory, {.job = job, .before = &before}, *torch).accepted());
}

TEST(framework, switches_off_only_what_runtimes_ask_for) {
    using plugins = framework<first, second>;
    for (const std::string name : {"First", "Third", "second"}) {
        const auto f = plugins::make({.disabled = {name}});
        ASSERT_FALSE(f);
        EXPECT_EQ(f.error().message,
                  "plugins.disabled: \"" + name + "\" is none of those that can be switched off: Second");
    }
}

TEST(verdicts, read_as_the_api_servers) {
    verdict v;
    v.invalid("spec.a", 3, "must be 4");
    EXPECT_EQ(v.message(), "spec.a: Invalid value: 3: must be 4");
    v.forbidden("spec.b", "no");
    v.invalid("spec.c", "te\"xt", "x");
    v.forbidden("spec.b", "no");
    EXPECT_EQ(v.message(),
              "[spec.a: Invalid value: 3: must be 4, spec.b: Forbidden: no, spec.c: Invalid value: \"te\\\"xt\": x]");
}

}  // namespace
}  // namespace cotrain::runtime
