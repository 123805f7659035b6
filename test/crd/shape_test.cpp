// What is dropped from documents and what is filled in.
#include "crd/support.hpp"

namespace cotrain::crd {
namespace {

std::string shaped_json(const node& schema, std::string_view text, std::vector<std::string>* unknown = nullptr) {
    doc::arena memory;
    shaped out = shape(memory, schema, json(memory, text));
    if (unknown != nullptr) *unknown = out.unknown_fields;
    std::string result;
    doc::append_sorted_json(result, out.document);
    return result;
}

TEST(shape, fills_in_the_defaults_of_a_train_job) {
    EXPECT_EQ(
        shaped_json(jobs(), train_job("")),
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"job"},"spec":)"
        R"({"managedBy":"trainer.kubeflow.org/trainjob-controller","runtimeRef":{"apiGroup":"trainer.kubeflow.org",)"
        R"("kind":"ClusterTrainingRuntime","name":"rt"},"suspend":false}})");
}

TEST(shape, fills_in_the_defaults_of_policies_that_are_there) {
    const std::string text =
        shaped_json(runtimes(), runtime(R"({"mlPolicy":{"mpi":{}},"podGroupPolicy":{"coscheduling":{}}})"));
    EXPECT_TRUE(text.contains(R"("mpi":{"mpiImplementation":"OpenMPI","numProcPerNode":1,"runLauncherAsNode":false,)"
                              R"("sshAuthMountPath":"/root/.ssh"})"))
        << text;
    EXPECT_TRUE(text.contains(R"("coscheduling":{"scheduleTimeoutSeconds":60})")) << text;
    EXPECT_FALSE(text.contains("flux")) << text;
}

TEST(shape, fills_in_the_defaults_of_embedded_types) {
    const std::string text = shaped_json(
        runtimes(), runtime(R"({"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":)"
                            R"({"template":{"spec":{"containers":[{"name":"node","ports":[{"containerPort":1}],)"
                            R"("envFrom":[{"secretRef":{}}]}]}}}}}]}}})"));
    EXPECT_TRUE(text.contains(R"("ports":[{"containerPort":1,"protocol":"TCP"}])")) << text;
    EXPECT_TRUE(text.contains(R"("envFrom":[{"secretRef":{"name":""}}])")) << text;
    EXPECT_TRUE(text.contains(R"("groupName":"default","name":"node","replicas":1)")) << text;
}

TEST(shape, drops_unknown_members_and_names_them) {
    std::vector<std::string> unknown;
    const std::string text =
        shaped_json(jobs(), train_job(R"("labels":{},"trainer":{"gpus":8,"env":[{"name":"A","x":1}]})"), &unknown);
    EXPECT_FALSE(text.contains("gpus") || text.contains("labels")) << text;
    EXPECT_EQ(unknown, (paths{"spec.labels", "spec.trainer.gpus", "spec.trainer.env[0].x"}));
}

TEST(shape, keeps_metadata_as_it_is) {
    const std::string text = shaped_json(jobs(), R"({"metadata":{"name":"a","new":{"b":null}},"other":1,"spec":{}})");
    EXPECT_TRUE(text.contains(R"("metadata":{"name":"a","new":{"b":null}})")) << text;
    EXPECT_FALSE(text.contains("other")) << text;
}

TEST(shape, takes_null_for_not_set) {
    const std::string text = shaped_json(jobs(), train_job(R"("suspend":null,"trainer":{"image":null,"args":[null]})"));
    EXPECT_TRUE(text.contains(R"("suspend":false)")) << text;
    EXPECT_TRUE(text.contains(R"("trainer":{"args":[null]})")) << text;
}

TEST(shape, keeps_both_dialects) {
    const std::string_view both =
        R"("podTemplateOverrides":[{"spec":{"tolerations":[{"key":"gpu","operator":"Exists"}]},)"
        R"("targetJobs":[{"name":"node"}]}],)";
    const std::string text =
        shaped_json(jobs(), train_job(std::string{both} + R"("trainer":{"numProcPerNode":"auto"})"));
    EXPECT_TRUE(text.contains(both.substr(0, both.size() - 1))) << text;
    EXPECT_TRUE(text.contains(R"("numProcPerNode":"auto")")) << text;
    EXPECT_EQ(shaped_json(runtimes(), runtime(R"({"mlPolicy":{"torch":{"numProcPerNode":"gpu"}}})")),
              runtime(R"({"mlPolicy":{"torch":{"numProcPerNode":"gpu"}}})"));
}

TEST(shape, shares_what_it_does_not_change) {
    doc::arena memory;
    const doc::ref once = shape(memory, jobs(), json(memory, train_job(R"("trainer":{"args":["a"]})"))).document;
    EXPECT_TRUE(shape(memory, jobs(), once).document.same(once));
}

TEST(shape, honours_preserved_unknown_members) {
    const node schema =
        schema_from(R"({"type":"object","properties":{"m":{"type":"object",)"
                    R"("x-kubernetes-preserve-unknown-fields":true,"properties":{"k":{"type":"object"}}}}})");
    EXPECT_EQ(shaped_json(schema, R"({"m":{"k":{"x":1},"y":2}})"), R"({"m":{"k":{},"y":2}})");
}

TEST(shape, names_a_bounded_number_of_unknown_members) {
    std::string members = R"("x":0)";
    for (int i = 0; i < 10'000; ++i) members += R"(,"x)" + std::to_string(i) + R"(":0)";
    std::vector<std::string> unknown;
    shaped_json(jobs(), train_job(members), &unknown);
    EXPECT_EQ(unknown.size(), unknown_fields_max);
}

}  // namespace
}  // namespace cotrain::crd
