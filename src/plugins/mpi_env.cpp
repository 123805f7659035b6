// The variables, checked against the programs' sources: Open MPI 4 (ORTE), Open MPI 5 (PRRTE 3 and 4: "prte_…" and
// "plm_ssh_args"), Intel MPI and MPICH (Hydra; "LAUNCH" in older versions, "LAUNCHER" in newer ones).
#include "plugins/mpi_env.hpp"

#include "api/names.hpp"

namespace cotrain::plugins {
namespace {

namespace names = api::names;

constexpr std::string_view hostfile_path = "/etc/mpi/hostfile";
constexpr std::string_view ssh_args = "-o ConnectionAttempts=10";
// Hydra tells the nodes where its launcher is: by the host's short name, which no other Pod can look up, unless there
// is an interface whose address it may tell instead. This is what container runtimes call a Pod's.
constexpr std::string_view pod_interface = "eth0";

void put_open_mpi(runtime::container& launcher, const std::string& slots) {
    launcher.put_env(names::env_ompi_hostfile, hostfile_path);
    launcher.put_env(names::env_ompi_keep_fqdn, "true");
    launcher.put_env(names::env_ompi_slots, slots);
    launcher.put_env(names::env_ompi_rsh_args, ssh_args);
    // Open MPI 5 launches through PRRTE, which reads none of the above (contract, difference 28). Its
    // keep_fqdn_hostnames stays off: with it, a launcher that trains takes itself, whose host name is short, for
    // another host.
    launcher.put_env_default("PRTE_MCA_prte_default_hostfile", hostfile_path);
    launcher.put_env_default("PRTE_MCA_prte_set_default_slots", slots);
    launcher.put_env_default("PRTE_MCA_plm_ssh_args", ssh_args);
}

}  // namespace

void put_launcher_env(runtime::container& launcher, api::mpi_implementation implementation, std::int64_t slots) {
    const std::string text = std::to_string(slots);
    switch (implementation) {
        case api::mpi_implementation::open_mpi: put_open_mpi(launcher, text); break;
        case api::mpi_implementation::intel:
            launcher.put_env_default("I_MPI_HYDRA_HOST_FILE", hostfile_path);
            launcher.put_env_default("I_MPI_HYDRA_BOOTSTRAP", "ssh");
            launcher.put_env_default("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", ssh_args);
            launcher.put_env_default("I_MPI_HYDRA_IFACE", pod_interface);
            launcher.put_env_default("I_MPI_PERHOST", text);
            break;
        case api::mpi_implementation::mpich:
            launcher.put_env_default("HYDRA_HOST_FILE", hostfile_path);
            launcher.put_env_default("HYDRA_IFACE", pod_interface);
            launcher.put_env_default("HYDRA_LAUNCHER", "ssh");
            launcher.put_env_default("HYDRA_LAUNCH_EXTRA_ARGS", ssh_args);
            launcher.put_env_default("HYDRA_LAUNCHER_EXTRA_ARGS", ssh_args);
            break;
    }
}

std::string hostfile_suffix(api::mpi_implementation implementation, std::int64_t slots) {
    const bool open = implementation == api::mpi_implementation::open_mpi;
    return (open ? " slots=" : ":") + std::to_string(slots) + "\n";
}

}  // namespace cotrain::plugins
