// What the player writes: Jobs, Pods, and states.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/player.hpp"

namespace cotrain::sim {
namespace {

constexpr std::string_view jobset_name = "jobset.sigs.k8s.io/jobset-name";
constexpr std::string_view replicated_job = "jobset.sigs.k8s.io/replicatedjob-name";
constexpr std::string_view job_index = "jobset.sigs.k8s.io/job-index";
constexpr std::string_view completion_index = "batch.kubernetes.io/job-completion-index";
constexpr std::size_t nodes = 4;

write_options as(std::string_view manager) { return {.manager = std::string{manager}}; }

std::string job_name(const std::string& set, const std::string& part, std::int64_t replica) {
    return fmt::format("{}-{}-{}", set, part, replica);
}

void own(api::editor metadata, std::string_view api_version, std::string_view kind_name, std::string_view name,
         std::string_view uid) {
    api::editor owner = metadata.ensure_array("ownerReferences").append_object();
    owner.set("apiVersion", api_version).set("kind", kind_name).set("name", name).set("uid", uid);
    owner.set("controller", true).set("blockOwnerDeletion", true);
}

// The members of a template's labels or annotations, editable.
api::editor copy_texts(api::editor metadata, std::string_view which, api::ref from) {
    api::editor out = metadata.ensure_object(which);
    for (const api::member& m : from.get({"metadata", which}).members()) out.set(m.key(), m.value.as_string());
    return out;
}

struct ending {
    const char* type;
    const char* reason;
    const char* message;
    bool holds;
};
constexpr std::array endings{
    ending{"Completed", "AllJobsCompleted", "jobset completed successfully", true},
    ending{"Failed", "FailedJobs", "jobset failed due to one or more job failures", true},
    ending{"Suspended", "SuspendedJobs", "jobset is suspended", true},
    ending{"Resumed", "ResumeJobs", "jobset is resumed", false},
};

void set_condition(api::editor conditions, const char* type, bool holds, const char* reason, const char* message,
                   const std::string& time) {
    api::editor out = conditions.ensure_entry("type", type);
    const std::string_view status = holds ? "True" : "False";
    if (out.get("status").as_string() != status) out.set("lastTransitionTime", time);
    out.set("status", status).set("reason", reason).set("message", message);
}

}  // namespace

void player::patch_status(const object_id& what, api::ref status) {
    api::arena memory;
    api::editor patch = api::editor::object(memory);
    patch.set("status", deep_copy(memory, status));
    const target at{what.of, what.key.first, what.key.second, true};
    // It may be gone, or going: then nobody misses its status.
    if (cluster_.patch(at, patch_type::merge, patch, as("jobset"), wall_)) wrote_ = true;
}

void player::write_status(const played& set, std::string_view condition) {
    const record_ptr state = cluster_.objects().find(*set.id.of, set.id.key.first, set.id.key.second);
    if (!state) return;
    api::arena memory;
    const api::ref live = open(memory, *state);
    api::editor status = api::editor::object(memory);
    api::editor parts = status.ensure_array("replicatedJobsStatus");
    for (const part& each : set.parts) {
        api::editor out = parts.append_object();
        const bool failed = condition == "Failed" && each.ends_it;
        const bool runs = (each.at == stage::pending || each.at == stage::ready) && !set.ended;
        out.set("name", each.name).set("failed", failed ? each.replicas : 0);
        out.set("ready", runs && each.at == stage::ready ? each.replicas : 0).set("active", runs ? each.replicas : 0);
        out.set("succeeded", each.at == stage::done ? each.replicas : 0);
        out.set("suspended", set.suspended ? each.replicas : 0);
    }
    status.set("restarts", 0);
    if (set.ended) status.set("terminalState", condition);
    const auto found = std::ranges::find(endings, condition, [](const ending& e) { return std::string_view{e.type}; });
    if (found != endings.end()) {
        api::editor conditions = api::editor::array(memory);
        for (const api::ref each : live.get({"status", "conditions"}).items())
            conditions.append(api::editor::of(memory, deep_copy(memory, each)));
        const char* const type = found->holds ? found->type : "Suspended";
        set_condition(conditions, type, found->holds, found->reason, found->message, api::format_time(wall_));
        status.set("conditions", conditions);
    }
    patch_status(set.id, status);
}

void player::write_gang(const played& set, std::string_view phase) {
    for (const char* group : {"scheduling.x-k8s.io", "scheduling.volcano.sh"}) {
        const kind* const of =
            type(group, group == std::string_view{"scheduling.x-k8s.io"} ? "v1alpha1" : "v1beta1", "podgroups");
        if (of == nullptr || !cluster_.objects().find(*of, set.id.key.first, set.id.key.second)) continue;
        std::int64_t running = 0;
        for (const part& each : set.parts) running += each.at == stage::ready ? each.replicas * each.pods : 0;
        api::arena memory;
        api::editor status = api::editor::object(memory);
        status.set("phase", phase).set("running", running);
        patch_status({of, set.id.key}, status);
    }
}

void player::make_jobs(const played& set, const part& of) {
    if (!set.script.pods || !of.shown()) return;
    const record_ptr state = cluster_.objects().find(*set.id.of, set.id.key.first, set.id.key.second);
    const kind* const jobs = type("batch", "v1", "jobs");
    if (!state || jobs == nullptr) return;
    api::arena memory;
    const api::ref job = open(memory, *state).get({"spec", "replicatedJobs"}).find_by("name", of.name);
    const api::ref wish = job.get("template");
    for (std::int64_t i = 0; i < of.replicas; ++i) {
        api::editor out = api::editor::object(memory);
        const std::string name = job_name(state->name, of.name, i);
        api::editor metadata = out.ensure_object("metadata");
        metadata.set("name", name);
        api::editor labels = copy_texts(metadata, "labels", wish);
        labels.set(jobset_name, state->name).set(replicated_job, of.name).set(job_index, fmt::format("{}", i));
        own(metadata, "jobset.x-k8s.io/v1alpha2", "JobSet", state->name, state->uid);
        out.set("spec", deep_copy(memory, wish.get("spec")));
        const auto made = cluster_.create({jobs, state->ns}, out, as("jobset"), wall_);
        if (!made) continue;
        wrote_ = true;
        const record_ptr kept = cluster_.objects().find(*jobs, state->ns, name);
        for (std::int64_t pod = 0; pod < of.pods; ++pod)
            make_pod(set, of, i, pod, *kept, wish.get({"spec", "template"}));
    }
    show_state(set, of, stage::pending);
}

void player::make_pod(const played& set, const part& of, std::int64_t replica, std::int64_t index, const record& job,
                      api::ref pod_template) {
    api::arena memory;
    api::editor out = api::editor::object(memory);
    api::editor metadata = out.ensure_object("metadata");
    metadata.set("generateName", fmt::format("{}-{}-", job.name, index));
    api::editor labels = copy_texts(metadata, "labels", pod_template);
    labels.set(jobset_name, set.id.key.second).set(replicated_job, of.name).set("job-name", job.name);
    labels.set(job_index, fmt::format("{}", replica)).set(completion_index, fmt::format("{}", index));
    copy_texts(metadata, "annotations", pod_template).set(completion_index, fmt::format("{}", index));
    own(metadata, "batch/v1", "Job", job.name, job.uid);
    out.set("spec", deep_copy(memory, pod_template.get("spec")));
    api::editor spec = out.ensure_object("spec");
    const std::uint64_t place = random_.next();
    spec.set("nodeName", fmt::format("node-{}", place % nodes));
    spec.set("hostname", fmt::format("{}-{}", job.name, index));
    spec.set_default("subdomain", set.id.key.second);
    if (cluster_.create({type("", "v1", "pods"), job.ns}, out, as("job-controller"), wall_)) wrote_ = true;
}

namespace {

// What a Pod says of itself when its Job is pending, ready, done or, with none of them, has failed.
struct pod_look {
    const char* phase;
    const char* state;
    const char* reason;
    bool ready;
    int exit_code;
};

api::ref pod_status(api::arena& memory, api::ref pod, const pod_look& look, const std::string& time,
                    std::uint64_t address) {
    api::editor out = api::editor::object(memory);
    out.set("phase", look.phase);
    out.set("podIP", fmt::format("10.{}.{}.{}", address % 200 + 10, address / 256 % 250, address / 65536 % 250 + 2));
    out.set("startTime", pod.get({"metadata", "creationTimestamp"}));
    api::editor conditions = out.ensure_array("conditions");
    for (const auto& [type, holds] : {std::pair{"PodScheduled", true}, std::pair{"Initialized", true},
                                      std::pair{"ContainersReady", look.ready}, std::pair{"Ready", look.ready}}) {
        conditions.append_object()
            .set("type", type)
            .set("status", holds ? "True" : "False")
            .set("lastTransitionTime", time);
    }
    api::editor states = out.ensure_array("containerStatuses");
    for (const api::ref each : pod.get({"spec", "containers"}).items()) {
        api::editor one = states.append_object();
        one.set("name", each.get("name")).set("image", each.get("image")).set("imageID", "").set("restartCount", 0);
        one.set("ready", look.ready).set("started", look.ready);
        api::editor state = one.ensure_object("state").ensure_object(look.state);
        if (look.reason[0] != '\0') state.set("reason", look.reason);
        if (look.state == std::string_view{"running"}) state.set("startedAt", time);
        if (look.state == std::string_view{"terminated"})
            state.set("exitCode", look.exit_code)
                .set("startedAt", pod.get({"status", "startTime"}))
                .set("finishedAt", time);
    }
    return out;
}

}  // namespace

// `waiting` stands for failed.
void player::show_state(const played& set, const part& of, stage at) {
    const kind* const jobs = type("batch", "v1", "jobs");
    if (!set.script.pods || !of.shown() || jobs == nullptr) return;
    const pod_look look = at == stage::pending ? pod_look{"Pending", "waiting", "ContainerCreating", false, 0}
                          : at == stage::ready ? pod_look{"Running", "running", "", true, 0}
                          : at == stage::done  ? pod_look{"Succeeded", "terminated", "Completed", false, 0}
                                               : pod_look{"Failed", "terminated", "Error", false, 1};
    const std::string stamp = api::format_time(wall_);
    for (std::int64_t i = 0; i < of.replicas; ++i) {
        const record_ptr job =
            cluster_.objects().find(*jobs, set.id.key.first, job_name(set.id.key.second, of.name, i));
        if (!job) continue;
        for (const object_id& pod : cluster_.objects().dependents(job->uid)) {
            const record_ptr state = cluster_.objects().find(*pod.of, pod.key.first, pod.key.second);
            api::arena memory;
            const std::uint64_t address = std::hash<std::string>{}(state->uid);
            patch_status(pod, pod_status(memory, open(memory, *state), look, stamp, address));
        }
        api::arena memory;
        api::editor status = api::editor::object(memory);
        const bool runs = at == stage::pending || at == stage::ready;
        status.set("startTime", stamp).set("active", runs ? of.pods : 0).set("ready", at == stage::ready ? of.pods : 0);
        status.set("succeeded", at == stage::done ? of.pods : 0).set("failed", at == stage::waiting ? of.pods : 0);
        if (!runs) {
            const bool fine = at == stage::done;
            if (fine) status.set("completionTime", stamp);
            set_condition(status.ensure_array("conditions"), fine ? "Complete" : "Failed", true,
                          fine ? "CompletionsReached" : "BackoffLimitExceeded", "", stamp);
        }
        patch_status({jobs, {job->ns, job->name}}, status);
    }
}

void player::remove_jobs(const played& set, const part& of) {
    const kind* const jobs = type("batch", "v1", "jobs");
    if (!set.script.pods || !of.shown() || jobs == nullptr) return;
    for (std::int64_t i = 0; i < of.replicas; ++i) {
        const target at{jobs, set.id.key.first, job_name(set.id.key.second, of.name, i)};
        if (cluster_.remove(at, {}, wall_)) wrote_ = true;
    }
}

}  // namespace cotrain::sim
