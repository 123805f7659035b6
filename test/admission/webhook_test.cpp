// Reviews as they come over the wire: malformed ones end in a clear refusal, others in the API server's form.
#include <gtest/gtest.h>

#include <string>

#include "admission/cluster.hpp"

namespace cotrain::admission {
namespace {

constexpr std::string_view head = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":)";

std::string request(std::string_view rest) {
    return std::string(head) +
           R"({"uid":"r-7","kind":{"group":"trainer.kubeflow.org","version":"v1alpha1","kind":"TrainJob"})" +
           std::string(rest) + "}}";
}

class webhook : public testing::Test {
   public:
    reply send(const std::string& body, hook h = hook::validate_train_job) { return cluster_.send(h, body); }
    cluster cluster_;
};

TEST_F(webhook, every_hook_has_its_path) {
    for (const hook h : {hook::default_train_job, hook::validate_train_job, hook::validate_training_runtime,
                         hook::validate_cluster_training_runtime}) {
        EXPECT_EQ(hook_at(path_of(h)), h);
    }
    EXPECT_EQ(path_of(hook::default_train_job), "/mutate-trainer-kubeflow-org-v1alpha1-trainjob");
    EXPECT_EQ(path_of(hook::validate_cluster_training_runtime),
              "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime");
    EXPECT_FALSE(hook_at("/"));
}

TEST_F(webhook, malformed_reviews_are_refused_and_say_why) {
    const std::string deep = std::string(head) + std::string(100'000, '[') + std::string(100'000, ']') + "}";
    const std::string huge(review_bytes_max + 1, ' ');
    for (const auto& [body, why] :
         {std::pair<std::string, std::string>{"", "AdmissionReview"},
          {"{", "AdmissionReview"},
          {"null", "AdmissionReview"},
          {"[]", "AdmissionReview"},
          {std::string("{\"a\0\":1}", 8), "AdmissionReview"},
          {R"({"apiVersion":"admission.k8s.io/v1beta1","request":{}})", "apiVersion"},
          {R"({"apiVersion":"admission.k8s.io/v1"})", "request"},
          {R"({"apiVersion":"admission.k8s.io/v1","request":[]})", "request"},
          {request(R"(,"operation":"REPLACE")"), "request.operation"},
          {request(R"(,"operation":"CREATE")"), "request.object"},
          {request(R"(,"operation":"CREATE","object":[])"), "request.object"},
          {request(R"(,"operation":"UPDATE","object":{})"), "request.oldObject"},
          {request(R"(,"operation":"CREATE","object":{"metadata":7})"), "metadata"},
          {request(R"(,"operation":"CREATE","object":{"spec":{"trainer":{"env":[[]]}}})"), "spec.trainer.env[0]"},
          {deep, "deep"},
          {huge, "bytes"}}) {
        const auto r = send(body);
        EXPECT_FALSE(r.allowed) << body.substr(0, 80);
        EXPECT_EQ(r.code, 400) << body.substr(0, 80);
        EXPECT_TRUE(r.message.contains(why)) << r.message << " for " << body.substr(0, 80);
        EXPECT_LT(r.message.size(), 400U);
        EXPECT_EQ(r.message.find('\n'), std::string::npos);
    }
}

TEST_F(webhook, a_refusal_of_a_readable_review_names_its_request) {
    EXPECT_EQ(send(request(R"(,"operation":"CREATE")")).uid, "r-7");
    EXPECT_EQ(send(R"({"apiVersion":"v2","request":{"uid":"r-8"}})").uid, "r-8");
}

TEST_F(webhook, other_kinds_do_not_belong_here) {
    const auto r = send(request(R"(,"operation":"CREATE","object":{})"), hook::validate_training_runtime);
    EXPECT_EQ(r.code, 400);
    EXPECT_TRUE(r.message.contains("expected TrainingRuntime")) << r.message;
}

// The API server sees to it that a request and its objects agree: nobody else is told of another place.
TEST_F(webhook, a_review_of_an_object_elsewhere_is_refused_unasked) {
    const auto job = [](std::string_view ns, std::string_view name) {
        return R"({"metadata":{"namespace":")" + std::string(ns) + R"(","name":")" + std::string(name) +
               R"("},"spec":{"runtimeRef":{"name":"rt","kind":"TrainingRuntime"}}})";
    };
    const std::string here = R"(,"namespace":"ns","name":"job","operation":)";
    for (const std::string& forged :
         {here + R"("CREATE","object":)" + job("other", "job"), here + R"("CREATE","object":)" + job("ns", "other"),
          here + R"("UPDATE","object":)" + job("ns", "job") + R"(,"oldObject":)" + job("other", "job"),
          here + R"("UPDATE","object":)" + job("ns", "job") + R"(,"oldObject":)" + job("ns", "other"),
          R"(,"operation":"CREATE","object":)" + job("other", "job")}) {
        for (const hook h : {hook::validate_train_job, hook::default_train_job}) {
            const auto r = send(request(forged), h);
            EXPECT_EQ(r.code, 400) << forged;
            EXPECT_TRUE(r.message.contains("is not the request's")) << r.message;
            EXPECT_TRUE(cluster_.asked.empty()) << forged;
        }
    }
    // A name that is generated comes after the request, and the namespace may be left to it.
    EXPECT_NE(send(request(R"(,"namespace":"ns","operation":"CREATE","object":)" + job("ns", "job-x7"))).code, 400);
    EXPECT_NE(send(request(here + R"("CREATE","object":)" + job("", ""))).code, 400);
    ASSERT_FALSE(cluster_.asked.empty());
    EXPECT_EQ(cluster_.asked_in.back(), "ns");
}

TEST_F(webhook, deletions_connections_and_subresources_pass) {
    EXPECT_TRUE(send(request(R"(,"operation":"DELETE","oldObject":{"spec":7})")).allowed);
    EXPECT_TRUE(send(request(R"(,"operation":"CONNECT")")).allowed);
    EXPECT_TRUE(send(request(R"(,"operation":"UPDATE","subResource":"status","object":{},"oldObject":{})")).allowed);
}

// Years of manifests are in etcd: what can no longer be read can still lose a finalizer.
TEST_F(webhook, an_unreadable_spec_that_an_update_leaves_alone_passes) {
    const std::string spec = R"("spec":{"trainer":{"env":"x"},"runtimeRef":{"name":"rt"}})";
    const std::string same = R"(,"operation":"UPDATE","object":{)" + spec + R"(},"oldObject":{)" + spec + "}";
    EXPECT_TRUE(send(request(same)).allowed);
    EXPECT_TRUE(send(request(same), hook::default_train_job).allowed);
    const std::string fixed =
        R"(,"operation":"UPDATE","object":{"spec":{"trainer":{},"runtimeRef":{"name":"rt"}}},"oldObject":{)" + spec +
        "}";
    EXPECT_NE(send(request(fixed)).code, 400);
}

TEST_F(webhook, long_refusals_are_cut) {
    std::string env;
    for (int i = 0; i < 128; ++i) {
        env.append(env.empty() ? "" : ",").append(R"({"name":"PET_NNODES","value":")").append(100, 'x').append("\"}");
    }
    cluster_.add(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: rt}\nspec: "
        "{mlPolicy: "
        "{torch: {}}, template: {spec: {replicatedJobs: []}}}\n");
    const auto r = send(request(
        R"(,"operation":"CREATE","object":{"spec":{"runtimeRef":{"name":"rt"},"trainer":{"env":[)" + env + "]}}}"));
    EXPECT_EQ(r.code, 403) << r.message;
    EXPECT_LE(r.message.size(), message_bytes_max);
    EXPECT_EQ(r.fields, std::vector<std::string>{"spec.trainer.env"});
}

}  // namespace
}  // namespace cotrain::admission
