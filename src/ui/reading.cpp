#include "ui/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "api/names.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "doc/json.hpp"
#include "runtime/container.hpp"
#include "runtime/endpoints.hpp"

namespace cotrain::ui {

namespace {

namespace names = api::names;
using doc::ref;

// Products of counts that anybody may write stay below what a page can count.
constexpr std::int64_t count_max = 10'000'000;

std::int64_t bounded(std::int64_t n) { return std::clamp<std::int64_t>(n, 0, count_max); }
std::int64_t count_of(ref value, std::int64_t otherwise = 0) { return bounded(value.as_int(otherwise)); }
std::int64_t times(std::int64_t a, std::int64_t b) { return bounded(a * b); }

std::string text_of(ref value, std::size_t bytes_max = text_bytes_max) {
    return base::one_line(value.as_string(), bytes_max);
}
std::string row_text(ref value) { return text_of(value, row_text_bytes_max); }

unix_seconds time_of(std::string_view text) {
    const auto t = base::parse_time_seconds(text);
    return t ? t->time_since_epoch().count() : 0;
}
unix_seconds time_of(ref value) { return time_of(value.as_string()); }

bool is_true(ref condition) { return condition.get("status").as_string() == "True"; }

std::int64_t number_of(ref text) {
    const std::string_view digits = text.text();
    std::int64_t out = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return bounded(out);
}

std::optional<std::int64_t> optional_count(ref value) {
    const auto number = value.as_int();
    return number ? std::optional(bounded(*number)) : std::nullopt;
}

void read_conditions(job_facts& out, ref conditions) {
    std::string why;
    const auto take = [&](ref each, bool& flag) {
        flag = true;
        why = row_text(each.get("message"));
        if (out.ended == 0) out.ended = time_of(each.get("lastTransitionTime"));
    };
    for (const ref each : conditions.items()) {
        const std::string_view type = each.get("type").as_string();
        if (type == names::complete && is_true(each)) take(each, out.complete);
        if (type == names::failed && is_true(each)) take(each, out.failed);
        if (type == names::resources_ready && each.get("status").as_string() == "False") {
            out.troubled = true;
            if (why.empty()) why = row_text(each.get("message"));
        }
    }
    if (out.message.empty()) out.message = std::move(why);
}

// A document of the text, or nothing.
ref parse(doc::arena& memory, std::string_view text) {
    if (text.empty()) return {};
    const auto document = doc::parse_json(memory, text);
    return document ? *document : ref{};
}

std::string value_of(const watch::json_text& text) {
    std::string scratch;
    return base::one_line(text.value(scratch), row_text_bytes_max);
}

// One replicated job of a JobSet's spec.
struct planned_part {
    std::string_view name;
    std::string_view step;
    std::int64_t replicas = 0;
    std::int64_t pods = 0;  // of each replica
    std::int64_t gpus = 0;  // of each Pod
    ref pod_spec{};

    [[nodiscard]] bool initializes() const {
        const std::string_view by = step.empty() ? name : step;
        return by == names::dataset_initializer || by == names::model_initializer;
    }
};

planned_part read_part(ref part) {
    const ref job = part.get({"template", "spec"});
    planned_part out{.name = part.get("name").as_string(),
                     .step = part.get({"template", "metadata", "labels", names::ancestor_label}).as_string(),
                     .replicas = count_of(part.get("replicas"), 1),
                     .pods = count_of(job.get("parallelism"), 1),
                     .pod_spec = job.get({"template", "spec"})};
    for (const ref each : out.pod_spec.get("containers").items())
        out.gpus = bounded(out.gpus + bounded(runtime::gpus_of(each.get("resources"))));
    return out;
}

void add_conditions(job_details& out, std::string_view of, ref conditions) {
    for (const ref each : conditions.items()) {
        if (out.conditions.size() == conditions_max) return;
        out.conditions.push_back({.of = std::string(of),
                                  .type = row_text(each.get("type")),
                                  .status = row_text(each.get("status")),
                                  .reason = row_text(each.get("reason")),
                                  .message = text_of(each.get("message")),
                                  .at = time_of(each.get("lastTransitionTime"))});
    }
}

std::string ports_of(ref pod_spec) {
    std::string out;
    for (const ref container : pod_spec.get("containers").items()) {
        for (const ref port : container.get("ports").items()) {
            if (out.size() > row_text_bytes_max) return out;
            const std::string name = row_text(port.get("name"));
            out += fmt::format("{}{}{}{}", out.empty() ? "" : ", ", name, name.empty() ? "" : " ",
                               port.get("containerPort").text());
        }
    }
    return out;
}

void add_endpoints(job_details& out, std::string_view job, std::string_view subdomain, const planned_part& part) {
    const runtime::endpoints hosts(job, part.name, subdomain, static_cast<std::uint32_t>(part.replicas),
                                   static_cast<std::uint32_t>(part.pods));
    const std::string ports = ports_of(part.pod_spec);
    const std::uint64_t shown = std::min<std::uint64_t>(hosts.size(), endpoints_max - out.endpoints.size());
    for (std::uint64_t i = 0; i < shown; ++i) out.endpoints.push_back({hosts[i].text(), ports});
    out.endpointsLeftOut += hosts.size() - shown;
}

// Why a Pod is not ready, or how it ended: of its containers the first that says so.
void read_containers(pod_row& out, ref statuses) {
    for (const ref each : statuses.items()) {
        out.restarts = bounded(out.restarts + count_of(each.get("restartCount")));
        const ref waiting = each.get({"state", "waiting"});
        ref ended = each.get({"state", "terminated"});
        if (!ended) ended = each.get({"lastState", "terminated"});
        const std::int64_t code = ended.get("exitCode").as_int(-1);
        if (ended && (out.exitCode < 0 || (out.exitCode == 0 && code != 0))) {
            out.exitCode = code;
            if (code != 0) {
                out.reason = row_text(ended.get("reason"));
                out.message = text_of(ended.get("message"));
            }
        }
        if (waiting && out.reason.empty()) {
            out.reason = row_text(waiting.get("reason"));
            out.message = text_of(waiting.get("message"));
        }
    }
}

}  // namespace

job_facts read_job(const watch::object_view& object) {
    doc::arena memory;
    const ref spec = parse(memory, object.spec);
    const ref status = parse(memory, object.status);
    const ref labels = parse(memory, object.labels);
    const ref trainer = spec.get("trainer");
    job_facts out;
    out.id = value_of(object.uid);
    out.runtime = row_text(spec.get({"runtimeRef", "name"}));
    out.queue = row_text(labels.get(names::kueue_queue_label));
    out.state = text_of(status.get("state"), 40);
    out.message = row_text(status.get("message"));
    out.created = time_of(object.creation_time.raw);
    out.started = time_of(status.get("startTime"));
    out.ended = time_of(status.get("completionTime"));
    out.nodes_desired = optional_count(status.get({"nodes", "desired"}));
    out.nodes_ready = optional_count(status.get({"nodes", "ready"}));
    out.restarts = optional_count(status.get("restarts"));
    out.nodes_asked = count_of(trainer.get("numNodes"), 1);
    out.gpus_each = bounded(runtime::gpus_of(trainer.get("resourcesPerNode")));
    out.suspend = spec.get("suspend").as_bool(false);
    read_conditions(out, status.get("conditions"));
    return out;
}

set_facts read_set(const watch::object_view& object) {
    doc::arena memory;
    const ref spec = parse(memory, object.spec);
    const ref status = parse(memory, object.status);
    const ref counts = status.get("replicatedJobsStatus");
    set_facts out;
    out.suspend = spec.get("suspend").as_bool(false);
    out.restarts = count_of(status.get("restarts"));
    out.all_up = true;
    for (const ref each : spec.get("replicatedJobs").items()) {
        const planned_part part = read_part(each);
        const ref now = counts.find_by("name", part.name);
        out.active = bounded(out.active + count_of(now.get("active")));
        if (part.initializes()) continue;
        const std::int64_t ready = count_of(now.get("ready"));
        out.nodes = bounded(out.nodes + times(part.replicas, part.pods));
        out.ready = bounded(out.ready + times(ready, part.pods));
        out.gpus = bounded(out.gpus + times(times(part.replicas, part.pods), part.gpus));
        out.all_up = out.all_up && ready + count_of(now.get("succeeded")) >= part.replicas;
    }
    return out;
}

std::string owner_of(const watch::object_view& object) {
    std::string scratch;
    if (object.controller.kind.value(scratch) != names::train_job_kind) return {};
    return value_of(object.controller.name);
}

job_details read_details(ref job, ref set) {
    job_details out;
    const ref spec = job.get("spec");
    const ref status = job.get("status");
    out.id = row_text(job.get({"metadata", "uid"}));
    out.ns = row_text(job.get({"metadata", "namespace"}));
    out.name = row_text(job.get({"metadata", "name"}));
    out.runtimeKind = text_of(spec.get({"runtimeRef", "kind"}), 80);
    if (out.runtimeKind.empty()) out.runtimeKind = names::cluster_training_runtime_kind;
    out.runtime = row_text(spec.get({"runtimeRef", "name"}));
    out.managedBy = row_text(spec.get("managedBy"));
    if (const ref failures = status.get("failures"); failures.is_array()) {
        std::string text;
        if (doc::append_json(text, failures, failures_bytes_max)) out.failures = std::move(text);
    }
    add_conditions(out, names::train_job_kind, status.get("conditions"));
    add_conditions(out, names::job_set.kind, set.get({"status", "conditions"}));
    out.setCreated = time_of(set.get({"metadata", "creationTimestamp"}));
    const std::string_view name = set.get({"metadata", "name"}).as_string();
    std::string_view subdomain = set.get({"spec", "network", "subdomain"}).as_string();
    if (subdomain.empty()) subdomain = name;
    const ref counts = set.get({"status", "replicatedJobsStatus"});
    for (const ref each : set.get({"spec", "replicatedJobs"}).items()) {
        if (out.parts.size() == parts_max) break;
        const planned_part part = read_part(each);
        const ref now = counts.find_by("name", part.name);
        out.parts.push_back({.name = std::string(part.name),
                             .step = std::string(part.step),
                             .replicas = part.replicas,
                             .pods = part.pods,
                             .ready = count_of(now.get("ready")),
                             .active = count_of(now.get("active")),
                             .succeeded = count_of(now.get("succeeded")),
                             .failed = count_of(now.get("failed")),
                             .suspended = count_of(now.get("suspended"))});
        if (set.get({"spec", "network", "enableDNSHostnames"}).as_bool(true) && !part.initializes())
            add_endpoints(out, name, subdomain, part);
    }
    return out;
}

pod_row read_pod(ref pod) {
    const ref metadata = pod.get("metadata");
    const ref labels = metadata.get("labels");
    const ref status = pod.get("status");
    pod_row out;
    out.name = row_text(metadata.get("name"));
    out.part = row_text(labels.get("jobset.sigs.k8s.io/replicatedjob-name"));
    out.job = number_of(labels.get("jobset.sigs.k8s.io/job-index"));
    constexpr std::string_view completion_index = "batch.kubernetes.io/job-completion-index";
    const ref index = labels.get(completion_index);
    out.index = number_of(index ? index : metadata.get({"annotations", completion_index}));
    out.phase = text_of(status.get("phase"), 40);
    out.ready = is_true(status.get("conditions").find_by("type", "Ready"));
    out.deleting = !metadata.get("deletionTimestamp").is_unset();
    out.node = row_text(pod.get({"spec", "nodeName"}));
    out.created = time_of(metadata.get("creationTimestamp"));
    for (const std::string_view of : {"containerStatuses", "initContainerStatuses"})
        read_containers(out, status.get(of));
    if (const std::string reason = row_text(status.get("reason")); !reason.empty()) {
        out.reason = reason;
        out.message = text_of(status.get("message"));
    }
    const ref scheduled = status.get("conditions").find_by("type", "PodScheduled");
    if (out.reason.empty() && scheduled.get("status").as_string() == "False") {
        out.reason = row_text(scheduled.get("reason"));
        out.message = text_of(scheduled.get("message"));
    }
    return out;
}

event_row read_event(ref event) {
    event_row out;
    out.type = text_of(event.get("type"), 40);
    out.reason = row_text(event.get("reason"));
    out.message = text_of(event.get("message"));
    out.about = fmt::format("{}/{}", text_of(event.get({"involvedObject", "kind"}), 80),
                            row_text(event.get({"involvedObject", "name"})));
    out.count = std::max<std::int64_t>({1, count_of(event.get("count")), count_of(event.get({"series", "count"}))});
    for (const ref each : {event.get({"series", "lastObservedTime"}), event.get("lastTimestamp"),
                           event.get("eventTime"), event.get({"metadata", "creationTimestamp"})}) {
        out.at = time_of(each);
        if (out.at != 0) break;
    }
    return out;
}

}  // namespace cotrain::ui
