// What the API server's defaults and the reference's typed round trip make of documents.
#include "runtime/normalise.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "documents.hpp"

namespace cotrain::runtime {
namespace {

struct shape_case {
    const char* name;
    const type_info* type;
    const char* before;
    const char* after;

    friend void PrintTo(const shape_case& c, std::ostream* out) { *out << c.name; }
};

class normal_forms : public testing::TestWithParam<shape_case> {};

TEST_P(normal_forms, as_told) {
    doc::arena memory;
    const auto normal = normalise(memory, document(memory, GetParam().before), *GetParam().type, "spec");
    ASSERT_TRUE(normal) << normal.error().message;
    EXPECT_EQ(sorted(*normal), sorted(GetParam().after));
    // In an arena that may still edit the document, too; and what is normal stays as it is.
    const auto again = normalise(memory, *normal, *GetParam().type, "spec");
    ASSERT_TRUE(again);
    EXPECT_EQ(sorted(*again), sorted(GetParam().after));
}

const type_info* const pods = &schema::pod_spec;

INSTANTIATE_TEST_SUITE_P(
    all, normal_forms,
    testing::Values(
        shape_case{"nulls_go", pods, "{'a':null,'nodeName':null,'affinity':{'nodeAffinity':null}}", "{'affinity':{}}"},
        shape_case{"zeros_go_where_go_leaves_them_out", pods,
                   "{'hostNetwork':false,'schedulerName':'','terminationGracePeriodSeconds':0,"
                   "'containers':[{'name':'','tty':false,'image':'','readinessProbe':{'periodSeconds':0}}]}",
                   "{'terminationGracePeriodSeconds':0,'containers':[{'name':'','readinessProbe':{}}]}"},
        shape_case{"pointers_keep_their_zeros", pods,
                   "{'containers':[{'name':'c','securityContext':{'privileged':false,'runAsUser':0}}]}",
                   "{'containers':[{'name':'c','securityContext':{'privileged':false,'runAsUser':0}}]}"},
        shape_case{"empty_lists_and_maps_go", pods, "{'tolerations':[],'nodeSelector':{},'volumes':[]}", "{}"},
        shape_case{"empty_objects_stay", pods, "{'volumes':[{'name':'v','emptyDir':{}}],'securityContext':{}}",
                   "{'volumes':[{'name':'v','emptyDir':{}}],'securityContext':{}}"},
        shape_case{"env_values_of_nothing_go", pods, "{'containers':[{'name':'c','env':[{'name':'A','value':''}]}]}",
                   "{'containers':[{'name':'c','env':[{'name':'A'}]}]}"},
        shape_case{"divisors_are_always_there", pods,
                   "{'containers':[{'name':'c','env':[{'name':'A','valueFrom':{'resourceFieldRef':"
                   "{'resource':'limits.cpu'}}}]}]}",
                   "{'containers':[{'name':'c','env':[{'name':'A','valueFrom':{'resourceFieldRef':"
                   "{'resource':'limits.cpu','divisor':'0'}}}]}]}"},
        shape_case{"quantities_become_canonical", pods,
                   "{'containers':[{'name':'c','resources':{'limits':{'cpu':0.5,'memory':'1024Mi','x/gpu':4}}}],"
                   "'overhead':{'cpu':'1000m'},'volumes':[{'name':'v','emptyDir':{'sizeLimit':'2048Ki'}}]}",
                   "{'containers':[{'name':'c','resources':{'limits':{'cpu':'500m','memory':'1Gi','x/gpu':'4'}}}],"
                   "'overhead':{'cpu':'1'},'volumes':[{'name':'v','emptyDir':{'sizeLimit':'2Mi'}}]}"},
        shape_case{"what_we_do_not_know_stays", pods,
                   "{'containers':[{'name':'c','novel':{'deep':[0,'',false]},'env':[{'name':'F','valueFrom':"
                   "{'fileKeyRef':{'path':'p','key':'k'}}}]}],'next':0}",
                   "{'containers':[{'name':'c','novel':{'deep':[0,'',false]},'env':[{'name':'F','valueFrom':"
                   "{'fileKeyRef':{'path':'p','key':'k'}}}]}],'next':0}"},
        shape_case{"zero_replicas_are_not_given", &schema::job_set_spec,
                   "{'replicatedJobs':[{'name':'a','replicas':0,'groupName':''}],'coordinator':{'replicatedJob':'a',"
                   "'jobIndex':0,'podIndex':0},'failurePolicy':{'maxRestarts':0}}",
                   "{'replicatedJobs':[{'name':'a'}],'coordinator':{'replicatedJob':'a'},'failurePolicy':{}}"}),
    [](const auto& i) { return i.param.name; });

TEST(normalise, names_the_path_of_an_unreadable_quantity) {
    doc::arena memory;
    const auto normal = normalise(
        memory, document(memory, "{'containers':[{'name':'a'},{'name':'b','resources':{'limits':{'cpu':'lots'}}}]}"),
        schema::pod_spec, "spec.template");
    ASSERT_FALSE(normal);
    EXPECT_NE(normal.error().message.find("spec.template.containers[1].resources.limits[cpu]"), std::string::npos)
        << normal.error().message;
}

TEST(normalise, shares_what_it_does_not_change) {
    doc::arena memory;
    const auto before = document(memory, "{'containers':[{'name':'a','image':'x'}]}");
    const auto after = normalise(memory, before, schema::pod_spec, {});
    ASSERT_TRUE(after);
    EXPECT_TRUE(after->same(before));
}

class defaults : public testing::TestWithParam<shape_case> {};

TEST_P(defaults, as_told) {
    doc::arena memory;
    const auto filled = with_defaults(memory, document(memory, GetParam().before), *GetParam().type);
    EXPECT_EQ(sorted(filled), sorted(GetParam().after));
    EXPECT_EQ(sorted(with_defaults(memory, filled, *GetParam().type)), sorted(GetParam().after));
}

INSTANTIATE_TEST_SUITE_P(
    all, defaults,
    testing::Values(
        shape_case{
            "of_a_train_job", &schema::train_job, "{'spec':{'runtimeRef':{'name':'r'},'suspend':null}}",
            "{'spec':{'runtimeRef':{'name':'r','apiGroup':'trainer.kubeflow.org','kind':"
            "'ClusterTrainingRuntime'},'suspend':false,'managedBy':'trainer.kubeflow.org/trainjob-controller'}}"},
        shape_case{"given_values_stay", &schema::train_job,
                   "{'spec':{'runtimeRef':{'name':'r','kind':'TrainingRuntime'},'suspend':true,'managedBy':'m'}}",
                   "{'spec':{'runtimeRef':{'name':'r','apiGroup':'trainer.kubeflow.org','kind':'TrainingRuntime'},"
                   "'suspend':true,'managedBy':'m'}}"},
        shape_case{"of_mpi", &schema::training_runtime, "{'spec':{'mlPolicy':{'mpi':{}}}}",
                   "{'spec':{'mlPolicy':{'mpi':{'numProcPerNode':1,'mpiImplementation':'OpenMPI','sshAuthMountPath':"
                   "'/root/.ssh','runLauncherAsNode':false}}}}"},
        shape_case{"of_gangs", &schema::training_runtime,
                   "{'spec':{'podGroupPolicy':{'coscheduling':{},'volcano':{'networkTopology':{}}}}}",
                   "{'spec':{'podGroupPolicy':{'coscheduling':{'scheduleTimeoutSeconds':60},'volcano':"
                   "{'networkTopology':{'mode':'hard','highestTierAllowed':1}}}}}"},
        shape_case{"of_jobs_and_ports", &schema::training_runtime,
                   "{'spec':{'template':{'spec':{'replicatedJobs':[{'name':'n','template':{'spec':{'template':{'spec':"
                   "{'containers':[{'name':'c','ports':[{'containerPort':1}]}]}}}}}]}}}}",
                   "{'spec':{'template':{'spec':{'replicatedJobs':[{'name':'n','groupName':'default','replicas':1,"
                   "'template':{'spec':{'template':{'spec':{'containers':[{'name':'c','ports':[{'containerPort':1,"
                   "'protocol':'TCP'}]}]}}}}}]}}}}"},
        shape_case{"not_of_jobs_in_patches", &schema::job_set_spec_patch, "{'replicatedJobs':[{'name':'n'}]}",
                   "{'replicatedJobs':[{'name':'n'}]}"}),
    [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cotrain::runtime
