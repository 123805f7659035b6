// Reading runtimes of both kinds.
#include "api/runtime.hpp"

#include <openssl/sha.h>

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "api/names.hpp"
#include "api/pod_shape.hpp"

namespace cotrain::api {

namespace {

// Snapshots are not checked by the CRD.
bool has_too_many(const doc::place& list, std::int64_t items_max) {
    if (std::cmp_less_equal(list.size(), items_max)) return false;
    list.mistake("must have at most " + std::to_string(items_max) + " items");
    return true;
}

torch_policy decode_torch(const doc::place& from) {
    torch_policy out;
    if (const doc::place elastic = from.object("elasticPolicy")) {
        out.elastic.emplace();
        elastic.read("minNodes", out.elastic->nodes.min);
        elastic.read("maxNodes", out.elastic->nodes.max);
        elastic.read("maxRestarts", out.elastic->max_restarts);
        if (!out.elastic->nodes.valid()) elastic.mistake("minNodes must be at least 1, and at most maxNodes");
    }
    out.num_proc_per_node = decode_process_count(from, "numProcPerNode");
    const doc::place injection = from.object("envInjection");
    const doc::place targets = injection.array("targets");
    if (has_too_many(targets, env_targets_max)) return out;
    out.env_injection.resize(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const doc::place target = targets.object_item(i);
        target.read("jobName", out.env_injection[i].job_name);
        if (has_too_many(target.array("containerNames"), env_target_containers_max)) return out;
        target.read_strings("containerNames", out.env_injection[i].container_names);
    }
    return out;
}

mpi_policy decode_mpi(const doc::place& from) {
    mpi_policy out;
    out.ssh_auth_mount_path = names::ssh_auth_mount_path_default;
    from.read("numProcPerNode", out.num_proc_per_node);
    from.read("sshAuthMountPath", out.ssh_auth_mount_path);
    from.read("runLauncherAsNode", out.run_launcher_as_node);
    std::string_view name;
    from.read("mpiImplementation", name);
    const doc::place implementation = from.member("mpiImplementation");
    if (name.empty()) return out;
    for (const auto i : {mpi_implementation::open_mpi, mpi_implementation::intel, mpi_implementation::mpich}) {
        if (name != to_string(i)) continue;
        out.implementation = i;
        return out;
    }
    implementation.expected("OpenMPI, Intel or MPICH");
    return out;
}

ml_policy decode_ml(const doc::place& from) {
    ml_policy out;
    from.read("numNodes", out.num_nodes);
    if (const doc::place torch = from.object("torch")) out.torch = decode_torch(torch);
    if (const doc::place mpi = from.object("mpi")) out.mpi = decode_mpi(mpi);
    if (from.object("jax")) out.jax.emplace();
    if (from.object("xgboost")) out.xgboost.emplace();
    if (const doc::place flux = from.object("flux")) {
        flux.read("numProcPerNode", out.flux.emplace().num_proc_per_node);
    }
    return out;
}

pod_group_policy decode_pod_groups(const doc::place& from) {
    pod_group_policy out;
    if (const doc::place coscheduling = from.object("coscheduling")) {
        coscheduling.read("scheduleTimeoutSeconds", out.coscheduling.emplace().schedule_timeout_seconds);
    }
    if (const doc::place volcano = from.object("volcano")) {
        volcano.read_object("networkTopology", out.volcano.emplace().network_topology);
    }
    return out;
}

}  // namespace

std::optional<node_range> parse_node_range(std::string_view text) {
    node_range out;
    const char* const end = text.data() + text.size();
    const auto min = std::from_chars(text.data(), end, out.min);
    if (min.ec != std::errc{} || min.ptr == end || *min.ptr != ':') return std::nullopt;
    const auto max = std::from_chars(min.ptr + 1, end, out.max);
    if (max.ec != std::errc{} || max.ptr != end || !out.valid()) return std::nullopt;
    return out;
}

std::string_view to_string(mpi_implementation i) {
    switch (i) {
        case mpi_implementation::open_mpi: return "OpenMPI";
        case mpi_implementation::intel: return "Intel";
        case mpi_implementation::mpich: return "MPICH";
    }
    return {};
}

bool training_runtime::cluster_wide() const { return kind == names::cluster_training_runtime_kind; }

base::result<training_runtime> decode_training_runtime(doc::ref document) {
    const std::string_view kind = document.get("kind").as_string(names::training_runtime_kind);
    doc::decoding outcome(kind);
    const doc::place root(outcome, document);
    training_runtime out;
    out.document = document;
    if (!document.is_object()) root.expected("an object");
    root.read("kind", out.kind);
    out.meta = decode_meta(root);
    const doc::place spec = root.object("spec");
    if (const doc::place ml = spec.object("mlPolicy")) out.ml = decode_ml(ml);
    if (const doc::place groups = spec.object("podGroupPolicy")) out.pod_groups = decode_pod_groups(groups);
    spec.read_object("scheduling", out.scheduling);
    const doc::place job_set = spec.object("template");
    check_job_set_template(job_set);
    job_set.read_object("metadata", out.template_metadata);
    job_set.read_object("spec", out.template_spec);
    if (!outcome.ok()) return outcome.fail();
    return out;
}

std::string snapshot_hash(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data());
    std::string out;
    out.reserve(2 * bytes.size());
    for (const unsigned char b : bytes) {
        out += digits[b >> 4U];
        out += digits[b & 0xFU];
    }
    return out;
}

}  // namespace cotrain::api
