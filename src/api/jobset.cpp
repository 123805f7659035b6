// Reads JobSets and PodGroups.
#include "api/jobset.hpp"

#include <algorithm>
#include <limits>

#include "api/names.hpp"

namespace cotrain::api {

bool job_set::any_active() const {
    return std::ranges::any_of(jobs, [](const replicated_job_status& job) { return job.active > 0; });
}

bool job_set::any_done() const {
    return std::ranges::any_of(jobs, [](const replicated_job_status& job) { return job.succeeded + job.failed > 0; });
}

bool job_set::all_ready() const {
    return !suspend && !jobs.empty() && std::ranges::all_of(jobs, [](const replicated_job_status& job) {
        return job.ready + job.succeeded >= std::max(1, job.active);
    });
}

std::int32_t job_shape::pods() const {
    return std::max(0, completions ? std::min(parallelism, *completions) : parallelism);
}

std::vector<std::int32_t> node_pods(std::span<const job_shape> jobs) {
    const auto trains = [](const job_shape& j) {
        return j.ancestor == names::ancestor_trainer || j.name == names::node;
    };
    const bool named = std::ranges::any_of(jobs, trains);
    std::vector<std::int32_t> out;
    out.reserve(jobs.size());
    for (const job_shape& j : jobs) {
        const bool initializer = j.ancestor == names::ancestor_dataset || j.ancestor == names::ancestor_model;
        out.push_back((named ? trains(j) : !initializer) ? j.pods() : 0);
    }
    return out;
}

std::int32_t count_nodes(std::span<const job_shape> jobs) {
    std::int64_t sum = 0;
    const std::vector<std::int32_t> pods = node_pods(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        sum += std::int64_t{pods[i]} * std::max(0, jobs[i].replicas);
        sum = std::min<std::int64_t>(sum, std::numeric_limits<std::int32_t>::max());
    }
    return static_cast<std::int32_t>(sum);
}

namespace {

std::vector<job_shape> decode_shapes(const doc::place& spec) {
    const doc::place jobs = spec.array("replicatedJobs");
    std::vector<job_shape> out(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const doc::place from = jobs.object_item(i);
        const doc::place job = from.object("template");
        const doc::place job_spec = job.object("spec");
        from.read("name", out[i].name);
        from.read("replicas", out[i].replicas);
        job_spec.read("parallelism", out[i].parallelism);
        job_spec.read("completions", out[i].completions);
        out[i].ancestor = job.value().get({"metadata", "labels", names::ancestor_label}).as_string();
    }
    return out;
}

void set_shapes(job_set& set, std::span<const job_shape> shapes) {
    const std::vector<std::int32_t> pods = node_pods(shapes);
    set.nodes = count_nodes(shapes);
    for (replicated_job_status& job : set.jobs) {
        const auto shape = std::ranges::find(shapes, job.name, &job_shape::name);
        if (shape == shapes.end()) continue;
        job.replicas = shape->replicas;
        job.node_pods = pods[static_cast<std::size_t>(shape - shapes.begin())];
    }
}

}  // namespace

base::result<job_set> decode_job_set(doc::ref document) {
    doc::decoding outcome("JobSet");
    const doc::place root(outcome, document);
    job_set out;
    out.document = document;
    if (!document.is_object()) root.expected("an object");
    out.meta = decode_meta(root);
    root.read_object("spec", out.spec);
    const doc::place spec = root.object("spec");
    spec.read("suspend", out.suspend);
    const doc::place status = root.object("status");
    out.conditions = decode_conditions(status);
    status.read("restarts", out.restarts);
    status.read("restartsCountTowardsMax", out.restarts_count_towards_max);
    status.read("terminalState", out.terminal_state);
    const doc::place jobs = status.array("replicatedJobsStatus");
    out.jobs.resize(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const doc::place from = jobs.object_item(i);
        replicated_job_status& job = out.jobs[i];
        from.read("name", job.name);
        from.read("ready", job.ready);
        from.read("succeeded", job.succeeded);
        from.read("failed", job.failed);
        from.read("active", job.active);
        from.read("suspended", job.suspended);
    }
    set_shapes(out, decode_shapes(spec));
    if (!outcome.ok()) return outcome.fail();
    return out;
}

}  // namespace cotrain::api
