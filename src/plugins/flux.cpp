// Volumes, installer and wrapped command of the trainer's pods; the scripts' ConfigMap and the certificate's Secret.
#include "plugins/flux.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "api/names.hpp"
#include "api/validation.hpp"
#include "plugins/encode.hpp"
#include "plugins/flux_scripts.hpp"
#include "runtime/gang.hpp"
#include "runtime/guards.hpp"
#include "runtime/processes.hpp"

namespace cotrain::plugins {
namespace {

using api::editor;
using api::ref;
namespace names = api::names;

constexpr std::string_view installer = "flux-installer";
constexpr std::string_view config_path = "/etc/flux-config";
constexpr std::string_view install_volume = "flux-install";
constexpr std::string_view install_path = "/mnt/flux";
constexpr std::string_view software_volume = "spack-install";
constexpr std::string_view software_path = "/opt/software";
constexpr std::string_view curve_volume = "flux-curve";
constexpr std::string_view curve_path = "/curve";
constexpr std::string_view memory_volume = "shared-memory";
constexpr std::string_view memory_path = "/dev/shm";
// Quantities may be beyond all machines: the product with the nodes is to stay a number.
constexpr std::int64_t tasks_per_node_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t script_mode = 0755;
constexpr std::int32_t curve_mode = 0400;

const api::flux_policy* policy_of(const runtime::info& i) {
    return i.ml() != nullptr && i.ml()->flux ? &*i.ml()->flux : nullptr;
}

// Named after the ConfigMap, as long as volumes may have such a name.
std::string scripts_volume(const api::train_job& job) {
    std::string full = runtime::child_name(job, names::flux_entrypoint_suffix);
    return full.size() <= api::dns_label_bytes_max ? full : std::string(names::flux_entrypoint_suffix.substr(1));
}

// A setting from the job's environment, else from the container's, else its default.
std::string setting(const runtime::container& c, const api::train_job& job, std::string_view variable,
                    std::string_view otherwise) {
    if (job.spec.trainer) {
        const ref own = job.spec.trainer->env.find_by("name", variable).get("value");
        if (own.is_string()) return std::string(own.text());
    }
    return std::string(c.env(variable).as_string(otherwise));
}

flux_settings settings_of(runtime::info& i, const api::train_job& job, const api::flux_policy& policy) {
    const runtime::container c = i.trainer_container();
    flux_settings s;
    s.main_host = i.master_host();
    s.host_prefix = s.main_host.substr(0, s.main_host.size() - std::string_view("0-0").size());
    s.domain = std::string(i.subdomain()) + "." + std::string(job.meta.ns) + ".svc.cluster.local";
    s.view_image = setting(c, job, "FLUX_VIEW_IMAGE", "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy");
    s.network_device = setting(c, job, "FLUX_NETWORK_DEVICE", "eth0");
    s.queue_policy = setting(c, job, "FLUX_QUEUE_POLICY", "fcfs");
    s.replicas = i.trainer()->replicas;
    s.nodes = i.nodes();
    s.tasks_per_node = policy.num_proc_per_node.value_or(1);
    const api::process_count wanted = runtime::wanted_processes(job);
    const ref resources = i.trainer_resources();
    if (wanted.is_number()) s.tasks_per_node = wanted.count;
    if (wanted.kind == api::process_count::form::cpu)
        s.tasks_per_node = std::clamp<std::int64_t>(runtime::cpus_of(resources), 1, tasks_per_node_max);
    s.gpus_per_node = runtime::gpus_of(resources);
    return s;
}

// The command that the pods would run without Flux, as one line.
std::string original_command(const runtime::info& i, ref container) {
    std::string line;
    const auto append = [&](ref words) {
        for (const ref word : words.items()) line.append(line.empty() ? "" : " ").append(word.as_string());
    };
    append(i.command().is_array() ? i.command() : container.get("command"));
    append(i.args().is_array() ? i.args() : container.get("args"));
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = line.find_first_not_of(blanks);
    if (first == std::string::npos) return {};
    return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

void put_volumes(editor pod_spec, const api::train_job& job) {
    runtime::put_volume(pod_spec, software_volume, "emptyDir");
    runtime::put_volume(pod_spec, install_volume, "emptyDir");
    runtime::put_volume(pod_spec, scripts_volume(job), "configMap")
        .set("name", runtime::child_name(job, names::flux_entrypoint_suffix))
        .set("defaultMode", script_mode);
    runtime::put_volume(pod_spec, memory_volume, "emptyDir").set("medium", "Memory");
    runtime::put_volume(pod_spec, curve_volume, "secret")
        .set("secretName", runtime::child_name(job, names::flux_curve_suffix))
        .set("defaultMode", curve_mode);
}

void put_installer(editor pod_spec, const api::train_job& job, std::string_view image) {
    editor document = editor::object(pod_spec.memory());
    document.set("name", installer).set("image", image);
    document.ensure_array("command").append("/bin/bash").append("/etc/flux-config/init.sh");
    runtime::container c(document);
    c.put_mount(install_volume, install_path);
    c.put_mount(scripts_volume(job), config_path, true);
    pod_spec.ensure_array("initContainers").upsert_by({"name"}, document);
}

// Random (contract, difference 31): whoever has the key commands the job's pods.
base::result<runtime::object> key_secret(const runtime::info& i, const api::train_job& job,
                                         const runtime::observed& seen) {
    if (!seen.make_curve_key) return base::fail(base::errc::internal, "no source of CURVE keys");
    const auto key = seen.make_curve_key();
    if (!key) return base::fail(key.error());
    const std::string secret_name = runtime::child_name(job, names::flux_curve_suffix);
    editor secret = runtime::new_child(i.memory(), names::secret, secret_name, job);
    secret.set("immutable", true);
    secret.ensure_object("data").set("curve.cert", base64(flux_certificate(job.meta.name, *key)));
    return runtime::finish(names::secret, secret_name, secret);
}

}  // namespace

base::result<> flux::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    const api::flux_policy* const policy = policy_of(i);
    if (policy == nullptr) return {};
    runtime::scale_trainer(i, job);
    runtime::container c = i.trainer_container();
    if (!c) return {};
    const flux_settings s = settings_of(i, job, *policy);

    editor command = editor::array(i.memory());
    command.append("/bin/bash").append("/etc/flux-config/entrypoint.sh").append(original_command(i, c.view()));
    i.wrap_command(command);
    i.wrap_args(ref::empty_array());  // they are part of the line now

    const editor pod_spec = i.pod_spec(*i.trainer());
    put_volumes(pod_spec, job);
    put_installer(pod_spec, job, s.view_image);
    c.put_mount(install_volume, install_path);
    c.put_mount(software_volume, software_path);
    c.put_mount(scripts_volume(job), config_path, true);
    c.put_mount(curve_volume, curve_path, true);
    c.put_mount(memory_volume, memory_path, true);
    return {};
}

base::result<> flux::build(runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                           runtime::object_list& out) const {
    const api::flux_policy* const policy = policy_of(i);
    if (policy == nullptr || !i.trainer_container()) return {};
    const flux_settings s = settings_of(i, job, *policy);
    if (static_cast<std::uint64_t>(s.replicas) * s.host_prefix.size() > runtime::config_bytes_max) {
        return base::fail(base::errc::too_large,
                          "the hosts of " + std::to_string(s.replicas) + " replicas do not fit a ConfigMap");
    }
    const std::string map_name = runtime::child_name(job, names::flux_entrypoint_suffix);
    editor map = runtime::new_child(i.memory(), names::config_map, map_name, job);
    map.ensure_object("data").set("entrypoint.sh", flux_entrypoint_script(s)).set("init.sh", flux_init_script(s));
    out.push_back(runtime::finish(names::config_map, map_name, map));

    switch (seen.state_of(names::secret, runtime::child_name(job, names::flux_curve_suffix))) {
        case runtime::child_state::ours:  // immutable, never rotated
        case runtime::child_state::premade: return {};
        case runtime::child_state::foreign: {
            std::string secret = runtime::child_name(job, names::flux_curve_suffix);
            if (!seen.foreign_later) return runtime::foreign_child(names::secret, secret);
            out.push_back({&names::secret, std::move(secret), {}});
            return {};
        }
        case runtime::child_state::absent: break;
    }
    auto secret = key_secret(i, job, seen);
    if (!secret) return base::fail(std::move(secret.error()));
    out.push_back(std::move(*secret));
    return {};
}

void flux::validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    const api::flux_policy* const policy = policy_of(i);
    if (policy == nullptr) return;
    std::int64_t processes = policy->num_proc_per_node.value_or(1);
    if (r.job.spec.trainer && r.job.spec.trainer->num_proc_per_node.is_number()) {
        processes = r.job.spec.trainer->num_proc_per_node.count;
    }
    if (processes < 1) {
        out.invalid("spec.trainer.numProcPerNode", processes, "must be greater than or equal to 1 for Flux TrainJob");
    }
    for (const auto& set : i.pod_sets()) {
        if (set.name != names::node && set.ancestor != names::ancestor_trainer) continue;
        if (i.pod_spec_view(set).get("initContainers").find_by("name", installer)) {
            out.invalid("spec.trainer.initContainers", installer, "InitContainer 'flux-installer' is reserved");
        }
    }
}

}  // namespace cotrain::plugins
