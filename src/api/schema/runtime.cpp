// What a TrainingRuntime and a ClusterTrainingRuntime are.
#include "api/schema/types.hpp"

namespace cotrain::api::schema {
namespace {

type_builder env_injection() {
    const type_builder containers =
        list(text().size({}, container_name_characters_max))
            .size(1, env_target_containers_max)
            .unique()
            .rule("!self.exists(c, c == 'node')", "containerNames must not name node, which gets the variables always");
    const type_builder target = object({
        {"jobName", text().size(1, dns_subdomain_characters_max), "Name of a job of the template.", mandatory},
        {"containerNames", containers, "Containers and init containers of that job.", mandatory},
    });
    return object({{"targets", list(target).size({}, env_targets_max).keyed_by("jobName"), "Jobs, by name."}});
}

type_builder torch() {
    return object({
        {"numProcPerNode", process_count().at_least(1),
         "Processes on every node in the earlier dialect: auto, cpu, gpu or a number. A TrainJob's own value wins."},
        {"envInjection", env_injection(), "Containers besides node that get the PET_ variables, too."},
    });
}

type_builder mpi() {
    return object({
        {"numProcPerNode", int32().fallback("1"), "Processes, and so slots of the hostfile, on every node."},
        {"mpiImplementation", text().one_of({"OpenMPI", "Intel", "MPICH", ""}).fallback(R"("OpenMPI")"),
         "Whose hostfile and variables are made; empty means OpenMPI."},
        {"sshAuthMountPath", text().size({}, path_characters_max).fallback(R"("/root/.ssh")"),
         "Where the SSH keys are mounted."},
        {"runLauncherAsNode", flag().fallback("false"), "Whether the launcher is a training node, too."},
    });
}

type_builder flux() {
    return object({
        {"numProcPerNode",
         int32().fallback("1").rule("self >= 1", "numProcPerNode of the flux policy must be at least 1"),
         "Processes on every node."},
    });
}

type_builder ml_policy() {
    return object({
                      {"numNodes", int32(), "Number of training nodes, for TrainJobs that give none."},
                      {"torch", torch(), "PyTorch, started with torchrun or torchtune."},
                      {"mpi", mpi(), "MPI over SSH."},
                      {"jax", object(), "JAX."},
                      {"xgboost", object(), "XGBoost."},
                      {"flux", flux(), "Flux."},
                  })
        .rule(
            "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost), has(self.flux)]"
            ".filter(x, x).size() <= 1",
            "only one of torch, mpi, jax, xgboost and flux may be set");
}

type_builder pod_group_policy() {
    const type_builder coscheduling = object({
        {"scheduleTimeoutSeconds", int32().fallback("60"), "How long all Pods may take to be scheduled together."},
    });
    const type_builder topology = object({
        {"mode", text().one_of({"hard", "soft"}).fallback(R"("hard")"), "Whether the limit must hold."},
        {"highestTierAllowed", integer().fallback("1"), "The highest tier that Pods may cross."},
    });
    return object({
        {"coscheduling", coscheduling, "A PodGroup for the coscheduling plugin."},
        {"volcano", object({{"networkTopology", topology, "How far apart Pods may be in the network."}}),
         "A PodGroup for Volcano."},
    });
}

}  // namespace

type_builder env_list() { return named("EnvVar", common_list_items_max); }

type_builder named(std::string_view foreign_item, std::int64_t items_max) {
    return list(foreign(foreign_item)).size({}, items_max).keyed_by("name");
}

type_builder template_metadata() { return foreign("ObjectMeta"); }

type_builder runtime_spec() {
    const type_builder job_set = object({
                                            {"metadata", template_metadata(), "Labels and annotations of the JobSet."},
                                            {"spec", foreign("JobSetSpec"), "Specification of the JobSet."},
                                        })
                                     .size(1);
    return object({
                      {"mlPolicy", ml_policy(), "The framework, and on how many nodes it runs."},
                      {"podGroupPolicy", pod_group_policy(), "Gang scheduling: all Pods or none."},
                      {"template", job_set, "The JobSet that TrainJobs are made into."},
                  })
        .size(1);
}

}  // namespace cotrain::api::schema
