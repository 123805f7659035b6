// Volumes, mounts and environment of launcher and nodes; the Secret and the ConfigMap they mount.
#include "plugins/builtin.hpp"

#include <algorithm>
#include <string>

#include "api/names.hpp"
#include "base/encoding.hpp"
#include "doc/json.hpp"
#include "plugins/keys.hpp"
#include "runtime/container.hpp"
#include "runtime/guards.hpp"
#include "runtime/object.hpp"

namespace cotrain::plugins {
namespace {

using doc::editor;
using doc::ref;
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

// Where the hostfile is, how many processes a host takes, patience of ssh, full host names: checked against the
// programs' sources, Open MPI 4 (ORTE), Open MPI 5 (PRRTE 3 and 4: "prte_…" and "plm_ssh_args"), Intel MPI and MPICH
// (Hydra; "LAUNCH" in older versions, "LAUNCHER" in newer ones).
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

// What follows a host's name on its line, newline included.
std::string hostfile_suffix(api::mpi_implementation implementation, std::int64_t slots) {
    const bool open = implementation == api::mpi_implementation::open_mpi;
    return (open ? " slots=" : ":") + std::to_string(slots) + "\n";
}

constexpr std::int32_t key_mode = 0400;          // for files of the Secret that have no mode of their own
constexpr std::int32_t private_key_mode = 0640;  // readable for the group: images run sshd as other users
constexpr std::int32_t public_key_mode = 0644;
constexpr std::int32_t hostfile_mode = 0444;

const api::mpi_policy* policy_of(const runtime::info& i) {
    return i.ml() != nullptr && i.ml()->mpi ? &*i.ml()->mpi : nullptr;
}

bool is_host(const runtime::pod_set& set, const api::mpi_policy& policy) {
    return set.name == names::node || (policy.run_launcher_as_node && set.name == names::launcher);
}

// The job's numNodes counts the nodes, one of which may be the launcher; the runtime's did before.
void scale(runtime::info& i, const api::train_job& job, const api::mpi_policy& policy) {
    runtime::pod_set* const node = i.find(names::node);
    if (node == nullptr || !job.spec.trainer || !job.spec.trainer->num_nodes) return;
    const std::int32_t nodes = *job.spec.trainer->num_nodes;
    node->count = policy.run_launcher_as_node ? std::max(nodes, 2) - 1 : nodes;
}

// The first container "node" of a job that trains or is called node: its GPUs are meant by numProcPerNode 1.
ref node_resources(const runtime::info& i) {
    for (const auto& set : i.pod_sets()) {
        if (set.name != names::node && set.ancestor != names::ancestor_trainer) continue;
        if (const ref c = i.container_view(set, names::node)) return c.get("resources");
    }
    return {};
}

// The job's number; else the policy's, where 1 means one for every GPU.
std::int64_t slots_of(const runtime::info& i, const api::train_job& job, const api::mpi_policy& policy) {
    const api::process_count wanted = runtime::wanted_processes(job);
    if (wanted.is_number()) return wanted.count;
    const ref resources = node_resources(i);
    if (wanted.kind == api::process_count::form::cpu) return std::max<std::int64_t>(runtime::cpus_of(resources), 1);
    const bool by_gpus = policy.num_proc_per_node == 1 || wanted.kind == api::process_count::form::gpu;
    return by_gpus ? std::max<std::int64_t>(runtime::gpus_of(resources), 1) : policy.num_proc_per_node;
}

void put_file(editor items, std::string_view key, std::string_view path, std::int32_t mode) {
    items.append_object().set("key", key).set("path", path).set("mode", mode);
}

void put_key_volume(editor pod_spec, const api::train_job& job) {
    editor secret = runtime::put_volume(pod_spec, names::ssh_auth_volume, "secret");
    secret.set("secretName", runtime::child_name(job, names::ssh_auth_suffix)).set("defaultMode", key_mode);
    editor items = secret.ensure_array("items");
    put_file(items, names::ssh_private_key, "id_rsa", private_key_mode);
    put_file(items, names::ssh_public_key, "id_rsa.pub", public_key_mode);
    put_file(items, names::ssh_public_key, "authorized_keys", public_key_mode);
}

void put_hostfile_volume(editor pod_spec, const api::train_job& job) {
    editor map = runtime::put_volume(pod_spec, names::hostfile_volume, "configMap");
    map.set("name", runtime::child_name(job, names::hostfile_suffix));
    put_file(map.ensure_array("items"), names::hostfile_key, names::hostfile_key, hostfile_mode);
}

std::uint64_t hostfile_bytes(const runtime::info& i, const api::mpi_policy& policy, std::size_t suffix) {
    std::uint64_t bytes = 0;
    for (const auto& set : i.pod_sets()) {
        if (is_host(set, policy)) bytes = runtime::saturating_sum(bytes, set.hosts.bytes(suffix));
    }
    return bytes;
}

// Empty, or why the hostfile is too large for a ConfigMap (contract, difference 5).
std::string hostfile_excess(const runtime::info& i, const api::mpi_policy& policy, std::size_t suffix) {
    if (hostfile_bytes(i, policy, suffix) <= runtime::config_bytes_max) return {};
    std::uint64_t room = runtime::config_bytes_max;
    std::uint64_t fitting = 0;
    std::uint64_t hosts = 0;
    for (const auto& set : i.pod_sets()) {
        if (!is_host(set, policy)) continue;
        hosts = runtime::saturating_sum(hosts, set.hosts.size());
        const std::uint64_t here = set.hosts.fitting(room, suffix);
        fitting += here;
        room = here == set.hosts.size() ? room - set.hosts.bytes(suffix) : 0;
    }
    return "a hostfile of " + std::to_string(hosts) + " hosts does not fit a ConfigMap (" +
           std::to_string(runtime::config_bytes_max) + " bytes): at most " + std::to_string(fitting) +
           " hosts with these names fit";
}

// The names go straight into the text: they are made of DNS labels, which need no escaping, only the newlines do.
base::result<runtime::object> hostfile_map(const runtime::info& i, const api::train_job& job,
                                           const api::mpi_policy& policy, std::string suffix) {
    suffix.replace(suffix.size() - 1, 1, "\\n");
    const std::string map_name = runtime::child_name(job, names::hostfile_suffix);
    const editor head = runtime::new_child(i.memory(), names::config_map, map_name, job);
    std::string json;
    json.reserve(512 + map_name.size() * 2 + hostfile_bytes(i, policy, suffix.size()));
    doc::append_json(json, head);
    json.pop_back();
    json.append(R"(,"data":{")").append(names::hostfile_key).append(R"(":")");
    for (const auto& set : i.pod_sets()) {
        if (!is_host(set, policy)) continue;
        const std::size_t left = runtime::object_bytes_max - std::min(runtime::object_bytes_max, json.size());
        const bool plain = set.hosts.empty() || ref::make_string(set.hosts.front().text()).plain();
        if (!plain || !set.hosts.append_lines(json, suffix, left)) {
            return base::fail(base::errc::internal, "a hostfile that was not checked");
        }
    }
    json.append(R"("}})");
    return runtime::object{&names::config_map, map_name, std::move(json)};
}

base::result<runtime::object> key_secret(const runtime::info& i, const api::train_job& job,
                                         const runtime::observed& seen) {
    if (!seen.make_ssh_key) return base::fail(base::errc::internal, "no source of ssh keys");
    const auto key = seen.make_ssh_key();
    if (!key) return base::fail(key.error());
    const std::string secret_name = runtime::child_name(job, names::ssh_auth_suffix);
    editor secret = runtime::new_child(i.memory(), names::secret, secret_name, job);
    secret.set("type", names::ssh_secret_type).set("immutable", true);
    secret.ensure_object("data")
        .set(names::ssh_private_key, base::encode_base64(key->private_pem))
        .set(names::ssh_public_key, base::encode_base64(key->public_line));
    return runtime::finish(names::secret, secret_name, secret);
}

}  // namespace

bool mpi::is_complete_pair(ref secret) {
    const auto holds = [&](std::string_view key) { return !secret.get({"data", key}).as_string().empty(); };
    return secret.get("type").as_string() == names::ssh_secret_type && holds(names::ssh_private_key) &&
           holds(names::ssh_public_key);
}

base::result<> mpi::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    const api::mpi_policy* const policy = policy_of(i);
    if (policy == nullptr) return {};
    scale(i, job, *policy);
    for (const auto& set : i.pod_sets()) {
        const bool launches = set.name == names::launcher;
        if (i.full()) break;
        if (set.name != names::node && !launches) continue;
        const editor pod_spec = i.pod_spec(set);
        put_key_volume(pod_spec, job);
        if (launches) put_hostfile_volume(pod_spec, job);
        if (!i.container_view(set, names::node)) continue;
        runtime::container c = i.find_container(set, names::node);
        c.put_mount(names::ssh_auth_volume, policy->ssh_auth_mount_path);
        if (!launches) continue;
        c.put_mount(names::hostfile_volume, names::hostfile_dir);
        put_launcher_env(c, policy->implementation, slots_of(i, job, *policy));
    }
    return {};
}

base::result<> mpi::build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                          runtime::object_list& out) const {
    const api::mpi_policy* const policy = policy_of(i);
    if (policy == nullptr) return {};
    const std::string suffix = hostfile_suffix(policy->implementation, slots_of(i, job, *policy));
    if (auto excess = hostfile_excess(i, *policy, suffix.size()); !excess.empty()) {
        return base::fail(base::errc::too_large, std::move(excess));
    }
    const auto wanted = runtime::to_be_made(keys, job, seen, out);
    if (!wanted) return base::fail(wanted.error());
    if (*wanted) {
        auto secret = key_secret(i, job, seen);
        if (!secret) return base::fail(std::move(secret.error()));
        out.push_back(std::move(*secret));
    }
    auto map = hostfile_map(i, job, *policy, suffix);
    if (!map) return base::fail(std::move(map.error()));
    out.push_back(std::move(*map));
    return {};
}

void mpi::validate(runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    const api::mpi_policy* const policy = policy_of(i);
    if (policy == nullptr) return;
    const auto& trainer = r.job.spec.trainer;
    if (trainer && trainer->num_nodes.value_or(1) >= 2 && policy->run_launcher_as_node &&
        (i.find(names::launcher) == nullptr || i.find(names::node) == nullptr)) {
        out.invalid("spec.trainer.numNodes", *trainer->num_nodes,
                    "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have either launcher "
                    "and node");
    }
    if (trainer) runtime::refuse_reserved_env(trainer->env, names::mpi_reserved_env, out);
    if (!r.added_rules(r.changed("trainer"))) return;
    scale(i, r.job, *policy);
    for (auto& set : i.pod_sets()) {
        set.hosts = runtime::endpoints(r.job.meta.name, set.name, i.subdomain(),
                                       static_cast<std::uint32_t>(std::max(set.replicas, 0)),
                                       static_cast<std::uint32_t>(std::max(set.count, 0)));
    }
    const std::string suffix = hostfile_suffix(policy->implementation, slots_of(i, r.job, *policy));
    if (auto excess = hostfile_excess(i, *policy, suffix.size()); !excess.empty()) {
        const runtime::pod_set* const node = i.find(names::node);
        out.invalid("spec.trainer.numNodes", node == nullptr ? 0 : node->count, std::move(excess));
    }
}

}  // namespace cotrain::plugins
