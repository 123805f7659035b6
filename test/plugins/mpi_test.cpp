// Launcher, nodes, hostfile and keys.
#include "plugins/builtin.hpp"

#include <algorithm>

#include "plan.hpp"

namespace cotrain::plugins {
namespace {

constexpr std::string_view launcher_and_node = R"(
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
      - name: node
        template:
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)";

std::string hostfile(plan& p) {
    return std::string(p.object("ConfigMap", "job-mpi-hostfile").get({"data", "hostfile"}).as_string());
}

struct host_case {
    const char* name;
    const char* policy;
    const char* trainer;
    const char* hosts;

    friend void PrintTo(const host_case& c, std::ostream* out) { *out << c.name; }
};

class hostfiles : public testing::TestWithParam<host_case> {};

TEST_P(hostfiles, list_what_takes_processes) {
    plan p(runtime_text(GetParam().policy, launcher_and_node), job_text("trainer: " + std::string(GetParam().trainer)));
    EXPECT_EQ(hostfile(p), GetParam().hosts);
    const doc::ref jobs = p.object("JobSet").get({"spec", "replicatedJobs"});
    EXPECT_EQ(jobs.at(0).get({"template", "spec", "parallelism"}).as_int(), 1);  // difference 18
}

INSTANTIATE_TEST_SUITE_P(
    all, hostfiles,
    testing::Values(host_case{"nodes_of_the_job", "mlPolicy: {numNodes: 5, mpi: {}}", "{numNodes: 2}",
                              "job-node-0-0.job slots=1\njob-node-0-1.job slots=1\n"},
                    host_case{"nodes_of_the_runtime", "mlPolicy: {numNodes: 2, mpi: {numProcPerNode: 3}}", "{}",
                              "job-node-0-0.job slots=3\njob-node-0-1.job slots=3\n"},
                    host_case{"the_launcher_is_a_node", "mlPolicy: {numNodes: 1, mpi: {runLauncherAsNode: true}}",
                              "{numNodes: 2}", "job-launcher-0-0.job slots=1\njob-node-0-0.job slots=1\n"},
                    host_case{"the_launcher_is_one_of_the_runtimes_nodes",
                              "mlPolicy: {numNodes: 3, mpi: {runLauncherAsNode: true}}", "{numProcPerNode: 4}",
                              "job-launcher-0-0.job slots=4\njob-node-0-0.job slots=4\njob-node-0-1.job slots=4\n"},
                    host_case{"gpus_where_the_policy_says_one", "mlPolicy: {numNodes: 1, mpi: {}}",
                              "{resourcesPerNode: {limits: {x/gpu: 8}}}", "job-node-0-0.job slots=8\n"},
                    host_case{"a_word_for_the_gpus", "mlPolicy: {numNodes: 1, mpi: {numProcPerNode: 3}}",
                              "{numProcPerNode: gpu, resourcesPerNode: {limits: {x/gpu: 8}}}",
                              "job-node-0-0.job slots=8\n"},
                    host_case{"for_intel", "mlPolicy: {numNodes: 1, mpi: {mpiImplementation: Intel}}",
                              "{numProcPerNode: 2}", "job-node-0-0.job:2\n"},
                    host_case{"for_mpich", "mlPolicy: {numNodes: 1, mpi: {mpiImplementation: MPICH}}", "{}",
                              "job-node-0-0.job:1\n"},
                    host_case{"empty_means_open_mpi", "mlPolicy: {numNodes: 1, mpi: {mpiImplementation: ''}}", "{}",
                              "job-node-0-0.job slots=1\n"}),
    [](const auto& i) { return i.param.name; });

// Difference 18: a runtime's number above 1 counts the nodes, else their own parallelism does.
TEST(mpi, keeps_the_nodes_parallelism_unless_a_number_scales_them) {
    const auto hosts = [](std::string_view policy, std::string_view trainer) {
        plan p(runtime_text("mlPolicy: " + std::string(policy), R"(
      replicatedJobs:
      - name: launcher
        replicas: 2
        template:
          spec: {parallelism: 3, template: {spec: {containers: [{name: node, image: i}]}}}
      - name: node
        template:
          spec: {parallelism: 6, template: {spec: {containers: [{name: node, image: i}]}}}
)"),
               job_text("trainer: " + std::string(trainer)));
        const doc::ref launcher = p.object("JobSet").get({"spec", "replicatedJobs"}).at(0);
        EXPECT_EQ(launcher.get("replicas").as_int(), 1) << policy << trainer;
        EXPECT_EQ(launcher.get({"template", "spec", "parallelism"}).as_int(), 1) << policy << trainer;
        return std::ranges::count(hostfile(p), '\n');
    };
    for (const auto* number : {"", "numNodes: 0, ", "numNodes: 1, "}) {
        EXPECT_EQ(hosts("{" + std::string(number) + "mpi: {}}", "{}"), 6) << number;
        EXPECT_EQ(hosts("{" + std::string(number) + "mpi: {runLauncherAsNode: true}}", "{}"), 7) << number;
        EXPECT_EQ(hosts("{" + std::string(number) + "mpi: {}}", "{numNodes: 1}"), 1) << number;
        EXPECT_EQ(hosts("{" + std::string(number) + "mpi: {}}", "{numNodes: 0}"), 0) << number;
    }
    EXPECT_EQ(hosts("{numNodes: 4, mpi: {}}", "{}"), 4);
    EXPECT_EQ(hosts("{numNodes: 4, mpi: {runLauncherAsNode: true}}", "{}"), 4);
    EXPECT_EQ(hosts("{numNodes: 4, mpi: {runLauncherAsNode: true}}", "{numNodes: 0}"), 2);
}

TEST(mpi, runs_the_jobs_command_in_a_launcher_without_label) {  // difference 27
    plan p(runtime_text("mlPolicy: {mpi: {}}", R"(
      replicatedJobs:
      - name: launcher
        template: {spec: {template: {spec: {containers: [{name: node, image: i, command: [mpirun]}]}}}}
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: i, command: [sshd]}]}}}}
)"),
           job_text("trainer: {command: [mpirun, train.py]}"));
    EXPECT_EQ(p.container("launcher").get("command").size(), 2U);
    EXPECT_EQ(p.container("node").get("command").at(0).as_string(), "sshd");
}

TEST(mpi, lists_all_replicas) {
    plan p(runtime_text("mlPolicy: {mpi: {}}", R"(
      network: {subdomain: mesh}
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
      - name: node
        replicas: 2
        template: {spec: {parallelism: 2, template: {spec: {containers: [{name: node, image: i}]}}}}
)"),
           job_text());
    EXPECT_EQ(hostfile(p),
              "job-node-0-0.mesh slots=1\njob-node-0-1.mesh slots=1\njob-node-1-0.mesh slots=1\n"
              "job-node-1-1.mesh slots=1\n");
}

TEST(mpi, tells_every_launcher_what_it_reads) {  // differences 25 and 28
    const auto env_of = [](std::string_view implementation, std::string_view variable) {
        plan p(
            runtime_text("mlPolicy: {mpi: {numProcPerNode: 2, mpiImplementation: " + std::string(implementation) + "}}",
                         launcher_and_node),
            job_text());
        return p.env(variable, "launcher");
    };
    EXPECT_EQ(env_of("OpenMPI", "OMPI_MCA_orte_default_hostfile"), "/etc/mpi/hostfile");
    EXPECT_EQ(env_of("OpenMPI", "PRTE_MCA_prte_default_hostfile"), "/etc/mpi/hostfile");
    EXPECT_EQ(env_of("OpenMPI", "PRTE_MCA_prte_set_default_slots"), "2");
    EXPECT_EQ(env_of("OpenMPI", "PRTE_MCA_prte_keep_fqdn_hostnames"), "");
    EXPECT_EQ(env_of("OpenMPI", "PRTE_MCA_plm_ssh_args"), "-o ConnectionAttempts=10");
    EXPECT_EQ(env_of("Intel", "I_MPI_HYDRA_HOST_FILE"), "/etc/mpi/hostfile");
    EXPECT_EQ(env_of("Intel", "I_MPI_HYDRA_IFACE"), "eth0");
    EXPECT_EQ(env_of("Intel", "I_MPI_PERHOST"), "2");
    EXPECT_EQ(env_of("Intel", "OMPI_MCA_orte_default_hostfile"), "");
    EXPECT_EQ(env_of("MPICH", "HYDRA_HOST_FILE"), "/etc/mpi/hostfile");
    EXPECT_EQ(env_of("MPICH", "HYDRA_IFACE"), "eth0");
}

TEST(mpi, lets_own_values_of_added_variables_win) {
    plan p(runtime_text("mlPolicy: {mpi: {}}", R"(
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i, env: [{name: PRTE_MCA_plm_ssh_args, value: r}]}]}}}
)"),
           job_text("trainer: {env: [{name: PRTE_MCA_prte_set_default_slots, value: '7'}]}"));
    EXPECT_EQ(p.env("PRTE_MCA_plm_ssh_args", "launcher"), "r");
    EXPECT_EQ(p.env("PRTE_MCA_prte_set_default_slots", "launcher"), "7");
    EXPECT_TRUE(p.review().accepted());
}

TEST(mpi, makes_keys_once) {
    plan p(runtime_text("mlPolicy: {mpi: {}}", launcher_and_node), job_text());
    const doc::ref secret = p.object("Secret", "job-mpi-ssh-auth");
    EXPECT_EQ(secret.get("type").as_string(), "kubernetes.io/ssh-auth");
    EXPECT_TRUE(secret.get("immutable").as_bool(false));
    const runtime::observed_child have{&api::names::secret, "job-mpi-ssh-auth", runtime::child_state::ours};
    p.seen.children = {&have, 1};
    p.seen.make_ssh_key = [] { return base::result<runtime::ssh_key>(base::fail(base::errc::internal, "not again")); };
    EXPECT_FALSE(p.object("Secret", "job-mpi-ssh-auth"));
    EXPECT_TRUE(p.object("ConfigMap", "job-mpi-hostfile"));
}

TEST(mpi, refuses_hostfiles_that_no_config_map_holds) {  // difference 5
    plan p(runtime_text("mlPolicy: {mpi: {}}", launcher_and_node), job_text("trainer: {numNodes: 100000}"));
    EXPECT_EQ(p.error(),
              "MPI: a hostfile of 100000 hosts does not fit a ConfigMap (1048576 bytes): at most 36540 hosts "
              "with these names fit");
    const auto verdict = p.review();
    ASSERT_EQ(verdict.errors.size(), 1U);
    EXPECT_EQ(verdict.errors[0].path, "spec.trainer.numNodes");
    plan fits(runtime_text("mlPolicy: {mpi: {}}", launcher_and_node), job_text("trainer: {numNodes: 36540}"));
    EXPECT_LE(hostfile(fits).size(), 1048576U);
    EXPECT_TRUE(fits.review().accepted());
}

TEST(mpi, needs_launcher_and_node_to_train_on_both) {
    plan p(runtime_text("mlPolicy: {mpi: {runLauncherAsNode: true}}"), job_text("trainer: {numNodes: 2}"));
    ASSERT_EQ(p.review().errors.size(), 1U);
    EXPECT_EQ(p.review().errors[0].path, "spec.trainer.numNodes");
}

}  // namespace
}  // namespace cotrain::plugins
