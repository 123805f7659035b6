// Every rule of the table, where it holds and where it does not, in the type that uses it.
#include <algorithm>
#include <map>

#include "crd/rules.hpp"
#include "crd/support.hpp"

namespace cotrain::crd {
namespace {

struct example {
    std::string_view name;
    std::string_view kind;
    std::string document;
    paths where = {};
};

std::ostream& operator<<(std::ostream& out, const example& e) { return out << e.name; }

class rules : public testing::TestWithParam<example> {};

TEST_P(rules, hold_or_do_not) {
    EXPECT_EQ(faults_of(*schema_of(GetParam().kind), GetParam().document), GetParam().where) << GetParam().document;
}

std::string job(std::string_view members) { return train_job(members); }
std::string with_uri(std::string_view uri) {
    return train_job(R"("initializer":{"model":{"storageUri":")" + std::string{uri} + "\"}}");
}
std::string job_set(std::string_view spec) { return runtime(R"({"template":{"spec":)" + std::string{spec} + "}}"); }

constexpr std::string_view uri = "spec.initializer.model.storageUri";
constexpr std::string_view spec = "spec.template.spec";
constexpr std::string_view injected =
    R"({"mlPolicy":{"torch":{"envInjection":{"targets":[{"jobName":"j","containerNames":)";

INSTANTIATE_TEST_SUITE_P(names, rules,
                         testing::Values(example{"plain", "TrainJob", train_job("", "a-1")},
                                         example{"longest", "TrainJob", train_job("", std::string(63, 'x'))},
                                         example{
                                             "too_long", "TrainJob", train_job("", std::string(64, 'x')), {"<nil>"}},
                                         example{"digit_first", "TrainJob", train_job("", "1a"), {"<nil>"}},
                                         example{"dash_last", "TrainJob", train_job("", "a-"), {"<nil>"}},
                                         example{"upper_case", "TrainJob", train_job("", "Upper"), {"<nil>"}},
                                         example{"dot", "TrainJob", train_job("", "a.b"), {"<nil>"}},
                                         example{"empty", "TrainJob", train_job("", ""), {"<nil>"}}),
                         [](const auto& each) { return std::string{each.param.name}; });

INSTANTIATE_TEST_SUITE_P(
    values, rules,
    testing::Values(example{"uri", "TrainJob", with_uri("s3://bucket/path")},
                    example{"uri_empty", "TrainJob", with_uri("")},
                    example{"uri_odd_scheme", "TrainJob", with_uri("A+b.-9://x")},
                    example{"uri_without_scheme", "TrainJob", with_uri("://x"), {std::string{uri}}},
                    example{"uri_digit_first", "TrainJob", with_uri("3s://x"), {std::string{uri}}},
                    example{"uri_without_rest", "TrainJob", with_uri("s3://"), {std::string{uri}}},
                    example{"uri_with_newline", "TrainJob", with_uri("s3://a\\nb"), {std::string{uri}}},
                    example{"uri_path", "TrainJob", with_uri("/data"), {std::string{uri}}},
                    example{"managed_by_kueue", "TrainJob", job(R"("managedBy":"kueue.x-k8s.io/multikueue")")},
                    example{"managed_by_other", "TrainJob", job(R"("managedBy":"a.b/c")"), {"spec.managedBy"}},
                    example{"managed_by_nobody", "TrainJob", job(R"("managedBy":"")"), {"spec.managedBy"}},
                    example{"flux_one", "TrainingRuntime", runtime(R"({"mlPolicy":{"flux":{"numProcPerNode":1}}})")},
                    example{"flux_zero",
                            "TrainingRuntime",
                            runtime(R"({"mlPolicy":{"flux":{"numProcPerNode":0}}})"),
                            {"spec.mlPolicy.flux.numProcPerNode"}},
                    example{"one_framework", "TrainingRuntime", runtime(R"({"mlPolicy":{"numNodes":2,"jax":{}}})")},
                    example{"no_framework", "TrainingRuntime", runtime(R"({"mlPolicy":{}})")},
                    example{"two_frameworks",
                            "TrainingRuntime",
                            runtime(R"({"mlPolicy":{"torch":{},"xgboost":{}}})"),
                            {"spec.mlPolicy"}},
                    example{"gangs", "TrainingRuntime", runtime(R"({"scheduling":{"schedulingPolicy":{"gang":{}}}})")},
                    example{"two_gang_schedulers",
                            "TrainingRuntime",
                            runtime(R"({"scheduling":{},"podGroupPolicy":{"coscheduling":{}}})"),
                            {"spec"}},
                    example{"gangs_of_some_and_of_all",
                            "TrainingRuntime",
                            runtime(R"({"scheduling":{"disruptionMode":{"all":{}},"replicatedJobs":[]}})"),
                            {"spec.scheduling"}},
                    example{"injected", "TrainingRuntime", runtime(std::string{injected} + R"(["a"]}]}}}})")},
                    example{"injected_node",
                            "TrainingRuntime",
                            runtime(std::string{injected} + R"(["a","node"]}]}}}})"),
                            {"spec.mlPolicy.torch.envInjection.targets[0].containerNames"}}),
    [](const auto& each) { return std::string{each.param.name}; });

constexpr std::string_view dependent = R"("replicatedJobs":[{"name":"a","template":{},"dependsOn":[]}])";

INSTANTIATE_TEST_SUITE_P(
    job_sets, rules,
    testing::Values(
        example{"any_order", "TrainingRuntime",
                job_set(R"({"startupPolicy":{"startupPolicyOrder":"AnyOrder"},)" + std::string{dependent} + "}")},
        example{"in_order",
                "TrainingRuntime",
                job_set(R"({"startupPolicy":{"startupPolicyOrder":"InOrder"},)" + std::string{dependent} + "}"),
                {std::string{spec}}},
        example{"in_order_alone", "TrainingRuntime",
                job_set(R"({"startupPolicy":{"startupPolicyOrder":"InOrder"},"replicatedJobs":[]})")},
        example{"in_order_without_jobs",
                "TrainingRuntime",
                job_set(R"({"startupPolicy":{"startupPolicyOrder":"InOrder"}})"),
                {std::string{spec}}},
        example{"claims", "TrainingRuntime",
                job_set(R"({"volumeClaimPolicies":[{"templates":[{"metadata":{"namespace":""}}]}]})")},
        example{"claims_elsewhere",
                "TrainingRuntime",
                job_set(R"({"volumeClaimPolicies":[{"templates":[{"metadata":{"namespace":"n"}}]}]})"),
                {"spec.template.spec.volumeClaimPolicies[0]"}},
        example{"claims_without_metadata",
                "TrainingRuntime",
                job_set(R"({"volumeClaimPolicies":[{"templates":[{}]}]})"),
                {"spec.template.spec.volumeClaimPolicies[0]"}}),
    [](const auto& each) { return std::string{each.param.name}; });

TEST(rules_of_status, a_report_needs_its_time) {
    const auto with = [](std::string_view report) {
        std::string text = train_job("");
        text.pop_back();
        return text + R"(,"status":{"trainerStatus":)" + std::string{report} + "}}";
    };
    EXPECT_EQ(faults_of(jobs(), with(R"({"lastUpdatedTime":"2026-01-01T00:00:00Z"})")), paths{});
    EXPECT_EQ(faults_of(jobs(), with(R"({"progressPercentage":3})")), paths{"status.trainerStatus"});
}

TEST(rules, are_not_looked_at_before_types_are_right) {
    EXPECT_EQ(faults_of(jobs(), train_job(R"("managedBy":"a.b/c","suspend":"yes")")), paths{"spec.suspend"});
    // Too long a name is a rule's fault, and duplicates and patterns keep no rule away.
    EXPECT_EQ(faults_of(jobs(), train_job(R"("managedBy":"a.b/c","trainer":{"env":[{"name":"A"},{"name":"A"}]})")),
              (paths{"spec.trainer.env[1]", "spec.managedBy"}));
}

// So that the table holds nothing which no test above can see.
TEST(rules, of_the_table_are_all_in_use) {
    std::map<std::string_view, int> uses;
    const auto visit = [&](const auto& self, const node& schema) -> void {
        for (const validation& v : schema.validations) ++uses[v.check->text];
        for (const property& p : schema.properties) self(self, *p.value);
        if (schema.items) self(self, *schema.items);
        if (schema.values) self(self, *schema.values);
    };
    visit(visit, jobs());
    visit(visit, runtimes());
    for (const rule& r : known_rules()) EXPECT_GT(uses[r.text], 0) << r.text;
}

// As JobSet's definition has it, and as Kubernetes 1.30 takes it.
TEST(rules, are_found_by_either_spelling) {
    const rule* const plain =
        find_rule("self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)");
    ASSERT_NE(plain, nullptr);
    EXPECT_NE(plain->text.find("t.metadata.__namespace__"), std::string_view::npos) << "what definitions are given";
    EXPECT_EQ(find_rule(plain->text), plain);
    EXPECT_EQ(find_rule(""), nullptr);
}

struct pattern_example {
    std::string_view pattern;
    std::vector<std::string_view> good;
    std::vector<std::string_view> bad;
};

TEST(patterns, match_what_the_regular_expressions_match) {
    const std::vector<pattern_example> examples{
        {quantity_pattern,
         {"1", "0.5", ".5", "5.", "+1", "-1.5Gi", "100m", "1e3", "1E-3", "1e+.5", "3k", "2Ei", "1n", "1E"},
         {"", ".", "+", "1e", "1 Gi", "Gi", "1GiB", "1K i", "0x10", "1mm", "1e3k", "--1", "1.2.3", "m"}},
        {condition_type_pattern,
         {"Ready", "a", "example.com/Ready", "a.b-c/x_y.z", "1"},
         {"", "/Ready", "Ready/", "A.b/Ready", "a..b/Ready", "-a/Ready", "a/b/c", "_a", "a-", "a b"}},
        {condition_reason_pattern, {"A", "Abc_", "A:b,c_d", "a9"}, {"", "9a", "A,", "A:", "_A", "A b", "A.b"}},
        {process_count_pattern,
         {"auto", "cpu", "gpu", "1", "2147483647"},
         {"", "0", "08", "-1", "+1", "1.5", "Auto", "tpu", " 1", "12345678901"}},
    };
    ASSERT_EQ(examples.size(), known_patterns().size());
    for (const pattern_example& e : examples) {
        const text_pattern* const pattern = find_pattern(e.pattern);
        ASSERT_NE(pattern, nullptr) << e.pattern;
        for (const std::string_view text : e.good) EXPECT_TRUE(pattern->matches(text)) << text;
        for (const std::string_view text : e.bad) EXPECT_FALSE(pattern->matches(text)) << text;
    }
}

}  // namespace
}  // namespace cotrain::crd
