// What a review costs is a few times its size, and what it is told fits a page, whatever it holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "admission/cluster.hpp"

namespace cotrain::admission {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::string_view runtime_yaml = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt, namespace: ns}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)";

std::string train_job(std::string_view spec, std::string_view metadata = {}) {
    std::string text =
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"job","namespace":"ns",)"
        R"("labels":{"kueue.x-k8s.io/queue-name":"q"})";
    text.append(metadata).append(R"(},"spec":{"runtimeRef":{"name":"rt","kind":"TrainingRuntime"},)");
    return text.append(spec).append("}}");
}

std::string review(std::string_view kind, std::string_view object, std::string_view before = {}) {
    std::string text = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":)"
                       R"({"group":"trainer.kubeflow.org","version":"v1alpha1","kind":")";
    text.append(kind).append(R"("},"namespace":"ns","operation":")");
    text.append(before.empty() ? "CREATE" : "UPDATE").append(R"(","object":)").append(object);
    if (!before.empty()) text.append(R"(,"oldObject":)").append(before);
    return text.append("}}");
}

std::string repeated(int n, const std::function<std::string(int)>& item) {
    std::string text;
    for (int i = 0; i < n; ++i) text.append(text.empty() ? "" : ",").append(item(i));
    return text;
}

class bounded : public testing::Test {
   public:
    bounded() { cluster_.add(runtime_yaml); }

    // CPU time of this thread for all of a review, the best of three.
    double seconds(hook h, const std::string& body) {
        double best = std::numeric_limits<double>::max();
        for (int i = 0; i < 3; ++i) {
            const auto now = [] {
                timespec t{};
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
                return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
            };
            std::string copy = body;
            const double begun = now();
            call c(h, std::move(copy), cluster_.now, cluster_.framework, cluster_.open);
            while (const auto q = c.next()) c.tell(cluster_.find(*q));
            answer_bytes_ = c.finish().size();
            best = std::min(best, now() - begun);
        }
        return best;
    }

    cluster cluster_;
    std::size_t answer_bytes_ = 0;
};

struct shape {
    const char* name;
    std::string (*body)(int n);
    hook h = hook::validate_train_job;

    friend void PrintTo(const shape& s, std::ostream* out) { *out << s.name; }
};

// The same in both objects, beside a change: what an update leaves alone is not too long.
std::string kept(const std::string& spec) {
    return review("TrainJob", train_job(spec + R"(,"suspend":true)"), train_job(spec));
}

std::string name_item(int i) { return R"({"name":"n)" + std::to_string(i) + R"("})"; }
std::string member(int i, std::string_view value) { return "\"m" + std::to_string(i) + "\":" + std::string(value); }

std::string patched(const std::string& template_spec) {
    return R"("runtimePatches":[{"manager":"a.b/c","trainingRuntimeSpec":{"template":{"spec":{)" + template_spec +
           "}}}}]";
}

constexpr shape shapes[] = {
    {"targets",
     [](int n) {
         return kept(R"("podTemplateOverrides":[{"targetJobs":[)" + repeated(n, name_item) + R"(],"spec":{}}])");
     }},
    {"overrides",
     [](int n) {
         return kept(R"("podTemplateOverrides":[)" +
                     repeated(n, [](int) { return R"({"targetJobs":[{"name":"x"}],"spec":{}})"; }) + "]");
     }},
    {"env", [](int n) { return kept(R"("trainer":{"env":[)" + repeated(n, name_item) + "]}"); }},
    {"args", [](int n) { return kept(R"("trainer":{"args":[)" + repeated(n, [](int) { return R"("a")"; }) + "]}"); }},
    {"managers",
     [](int n) {
         return kept(R"("runtimePatches":[)" +
                     repeated(n, [](int i) { return R"({"manager":"a.b/)" + std::to_string(i) + R"("})"; }) + "]");
     }},
    {"managers_to_be_stamped",
     [](int n) {
         return kept(R"("runtimePatches":[)" +
                     repeated(n, [](int i) { return R"({"manager":"a.b/)" + std::to_string(i) + R"("})"; }) + "]");
     },
     hook::default_train_job},
    {"patched_jobs", [](int n) { return kept(patched(R"("replicatedJobs":[)" + repeated(n, name_item) + "]")); }},
    {"deleted_jobs",
     [](int n) {
         return kept(patched(
             R"("replicatedJobs":[)" +
             repeated(n, [](int i) { return R"({"$patch":"delete","name":"n)" + std::to_string(i) + R"("})"; }) + "]"));
     }},
    {"unknown_members", [](int n) { return kept(patched(repeated(n, [](int i) { return member(i, "{}"); }))); }},
    {"nulls", [](int n) { return kept(patched(repeated(n, [](int i) { return member(i, "null"); }))); }},
    {"nested_nulls",
     [](int n) { return kept(patched(R"("x":{)" + repeated(n, [](int i) { return member(i, "null"); }) + "}")); }},
    {"retained_keys",
     [](int n) {
         return kept(patched(R"("$retainKeys":[)" +
                             repeated(n, [](int i) { return "\"m" + std::to_string(i) + "\""; }) + "]," +
                             repeated(n, [](int i) { return member(i, "1"); })));
     }},
    {"orders",
     [](int n) {
         return kept(patched(repeated(n, [](int i) {
             return "\"$setElementOrder/m" + std::to_string(i) + "\":[],\"m" + std::to_string(i) + "\":[1]";
         })));
     }},
    {"labels",
     [](int n) {
         return kept(R"("podTemplateOverrides":[{"targetJobs":[],"metadata":{"labels":{)" +
                     repeated(n, [](int i) { return member(i, R"("v")"); }) + R"(}},"spec":{}}])");
     }},
    {"members_of_spec", [](int n) { return kept(repeated(n, [](int i) { return member(i, "1"); })); }},
    {"members_twice", [](int n) { return kept(repeated(n, [](int) { return R"("x":1)"; })); }},
    {"resources",
     [](int n) {
         return kept(R"("trainer":{"resourcesPerNode":{"limits":{)" +
                     repeated(n, [](int i) { return member(i, "-1"); }) + "}}}");
     }},
    {"small_lists", [](int n) { return review("TrainJob", "[" + repeated(n, [](int) { return "[0]"; }) + "]"); }},
    {"long_number", [](int n) { return kept("\"x\":1" + std::string(static_cast<std::size_t>(n) * 4, '0')); }},
    {"escapes", [](int n) { return kept("\"x\":\"" + repeated(n, [](int) { return "\\u0041"; }) + "\""); }},
    {"runtime_jobs",
     [](int n) {
         return review(
             "TrainingRuntime",
             R"({"metadata":{"name":"rt"},"spec":{"template":{"spec":{"replicatedJobs":[)" + repeated(n, [](int) {
                 return R"({"name":"X","replicas":7,"template":{"metadata":{"labels":)"
                        R"({"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}}}})";
             }) + "]}}}}");
     },
     hook::validate_training_runtime}};

class scaling : public bounded, public testing::WithParamInterface<shape> {};

// Four times the request is about four times the work, and never sixteen times.
TEST_P(scaling, no_rule_compares_all_with_all) {
    const shape& s = GetParam();
    constexpr int n = 5'000;
    constexpr int factor = 4;
    constexpr double more_max = 9;
    constexpr double noise_seconds = 0.002;
    const double few = seconds(s.h, s.body(n));
    const double many = seconds(s.h, s.body(n * factor));
    EXPECT_LT(many, few * more_max + noise_seconds) << few;
    EXPECT_LT(answer_bytes_, 256U * 1024);
}

INSTANTIATE_TEST_SUITE_P(all, scaling, testing::ValuesIn(shapes), [](const auto& i) { return i.param.name; });

// The rest of a list is not told, and long values are cut.
TEST_F(bounded, findings_are_few_and_short) {
    const std::string overrides = R"("podTemplateOverrides":[)" +
                                  repeated(10,
                                           [](int i) {
                                               return R"({"targetJobs":[)" +
                                                      repeated(100,
                                                               [&](int k) {
                                                                   return R"({"name":"n)" +
                                                                          std::to_string(i * 100 + k) +
                                                                          std::string(2'000, 'x') + R"("})";
                                                               }) +
                                                      R"(],"spec":{}})";
                                           }) +
                                  "]";
    const auto r = cluster_.send(hook::validate_train_job, review("TrainJob", train_job(overrides)));
    EXPECT_FALSE(r.allowed);
    ASSERT_EQ(r.fields.size(), 64U) << r.message;
    EXPECT_EQ(r.fields[0], "spec.podTemplateOverrides[0].targetJobs[0].name");
    EXPECT_EQ(r.fields[63], "spec.podTemplateOverrides[0].targetJobs[63].name");
    EXPECT_LE(r.message.size(), message_bytes_max);
}

TEST_F(bounded, a_few_findings_and_more_are_told_as_such) {
    const std::string overrides =
        R"("podTemplateOverrides":[{"targetJobs":[)" + repeated(100, name_item) + R"(],"spec":{}}])";
    const auto r = cluster_.send(hook::validate_train_job, review("TrainJob", train_job(overrides)));
    EXPECT_TRUE(r.message.ends_with("… and more]")) << r.message;
    EXPECT_THAT(r.message,
                HasSubstr("spec.podTemplateOverrides[0].targetJobs[7].name: Invalid value: \"n7\": must not"));
    EXPECT_THAT(r.message, testing::Not(HasSubstr("targetJobs[64]")));
}

// What the CRD refuses is not looked through: by the validating webhook with the API server's words, by the mutating
// one, which is asked first, without a word.
TEST_F(bounded, lists_beyond_the_definition_are_refused_unseen) {
    const std::string env = R"("trainer":{"env":[)" + repeated(129, name_item) + "]}";
    const auto r = cluster_.send(hook::validate_train_job, review("TrainJob", train_job(env)));
    EXPECT_EQ(r.code, 400);
    EXPECT_EQ(r.message, "TrainJob: spec.trainer.env: Too many: 129: must have at most 128 items");
    const auto d = cluster_.send(hook::default_train_job, review("TrainJob", train_job(env)));
    EXPECT_TRUE(d.allowed);
    EXPECT_EQ(d.patch, "");
    // An object that was stored before there was a limit goes on.
    EXPECT_TRUE(cluster_.send(hook::validate_train_job, kept(env)).allowed);
}

TEST_F(bounded, a_review_takes_bounded_memory) {
    const std::string lists = "[" + repeated(1'700'000, [](int) { return "[0]"; }) + "]";
    const auto r = cluster_.send(hook::validate_train_job, review("TrainJob", lists));
    EXPECT_EQ(r.code, 400);
    EXPECT_THAT(r.message, HasSubstr("needs more memory than is allowed"));
}

// Difference to what the reference lets through: a rule of ours, so for what is made or changed, and never for what is
// being deleted.
TEST_F(bounded, names_are_labels) {
    constexpr std::string_view spec = R"("suspend":false)";
    const auto of = [&](std::string_view name, std::string_view more = {}) {
        std::string text = train_job(spec, more);
        return text.replace(text.find(R"("name":"job")"), 12, "\"name\":\"" + std::string(name) + "\"");
    };
    const auto fields = [&](const std::string& body) { return cluster_.send(hook::validate_train_job, body).fields; };
    EXPECT_THAT(fields(review("TrainJob", of("job"))), testing::IsEmpty());
    EXPECT_THAT(fields(review("TrainJob", of(R"(a\"b)"))), testing::ElementsAre("metadata.name"));
    EXPECT_THAT(fields(review("TrainJob", of("a.b"))), testing::ElementsAre("metadata.name"));
    const std::string stopped = of("a.b").replace(of("a.b").find("false"), 5, "true");
    EXPECT_THAT(fields(review("TrainJob", stopped, of("a.b"))), testing::IsEmpty());

    std::string bad(runtime_yaml);
    cluster_.add(bad.replace(bad.find("replicatedJobs"), 0, "network: {subdomain: 'x\",\"y'}\n      "));
    EXPECT_THAT(fields(review("TrainJob", of("job"))), testing::ElementsAre("spec.runtimeRef"));
    EXPECT_THAT(fields(review("TrainJob", of("job", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"))),
                testing::IsEmpty());
    const std::string on = of("job").replace(of("job").find("false"), 5, "true");
    EXPECT_THAT(fields(review("TrainJob", on, of("job"))), testing::IsEmpty());
}

TEST_F(bounded, runtimes_have_names_that_are_labels_and_pods_that_can_be_counted) {
    const auto runtime = [](std::string_view subdomain, std::string_view name, std::string_view replicas) {
        std::string text = R"({"metadata":{"name":"rt"},"spec":{"template":{"spec":{"network":{"subdomain":")";
        text.append(subdomain).append(R"("},"replicatedJobs":[{"name":")").append(name).append(R"(","replicas":)");
        return text.append(replicas).append(R"(,"template":{"spec":{"parallelism":2147483647}}}]}}}})");
    };
    const auto fields = [&](const std::string& body) {
        return cluster_.send(hook::validate_training_runtime, body).fields;
    };
    EXPECT_THAT(fields(review("TrainingRuntime", runtime("mesh", "node", "1"))), testing::IsEmpty());
    EXPECT_THAT(fields(review("TrainingRuntime", runtime("", "node", "1"))), testing::IsEmpty());
    EXPECT_THAT(fields(review("TrainingRuntime", runtime("a.b", "node", "1"))),
                testing::ElementsAre("spec.template.spec.network.subdomain"));
    EXPECT_THAT(fields(review("TrainingRuntime", runtime("mesh", R"(\")", "1"))),
                testing::ElementsAre("spec.template.spec.replicatedJobs[0].name"));
    EXPECT_THAT(fields(review("TrainingRuntime", runtime("mesh", "node", "2"))),
                testing::ElementsAre("spec.template.spec.replicatedJobs"));
    EXPECT_THAT(
        fields(review("TrainingRuntime", runtime("a.b", "node", "2147483647"), runtime("a.b", "node", "2147483647"))),
        testing::IsEmpty());
}

}  // namespace
}  // namespace cotrain::admission
