#include "sim/player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace cotrain::sim {

namespace {

std::optional<std::chrono::milliseconds> read_time(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    constexpr std::int64_t seconds_max = 30L * 24 * 3600;
    if (error != std::errc{} || value < 0 || value > seconds_max) return std::nullopt;
    if (unit == "ms") return std::chrono::milliseconds{value};
    if (unit == "s") return std::chrono::seconds{value};
    if (unit == "m" && value <= seconds_max / 60) return std::chrono::minutes{value};
    return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t from = text.find_first_not_of(" \t\n");
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(" \t\n") - from + 1);
}

bool has_ended(doc::ref job_set) {
    return std::ranges::any_of(job_set.get({"status", "conditions"}).items(), [](doc::ref each) {
        const std::string_view type = each.get("type").as_string();
        return (type == "Completed" || type == "Failed") && each.get("status").as_string() == "True";
    });
}

constexpr std::string_view jobset_name = "jobset.sigs.k8s.io/jobset-name";
constexpr std::string_view replicated_job = "jobset.sigs.k8s.io/replicatedjob-name";
constexpr std::string_view job_index = "jobset.sigs.k8s.io/job-index";
constexpr std::string_view completion_index = "batch.kubernetes.io/job-completion-index";
constexpr std::size_t nodes = 4;

write_options as(std::string_view manager) { return {.manager = std::string{manager}}; }

std::string job_name(const std::string& set, const std::string& part, std::int64_t replica) {
    return fmt::format("{}-{}-{}", set, part, replica);
}

void own(doc::editor metadata, std::string_view api_version, std::string_view kind_name, std::string_view name,
         std::string_view uid) {
    doc::editor owner = metadata.ensure_array("ownerReferences").append_object();
    owner.set("apiVersion", api_version).set("kind", kind_name).set("name", name).set("uid", uid);
    owner.set("controller", true).set("blockOwnerDeletion", true);
}

// The members of a template's labels or annotations, editable.
doc::editor copy_texts(doc::editor metadata, std::string_view which, doc::ref from) {
    doc::editor out = metadata.ensure_object(which);
    for (const doc::member& m : from.get({"metadata", which}).members()) out.set(m.key(), m.value.as_string());
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

void set_condition(doc::editor conditions, const char* type, bool holds, const char* reason, const char* message,
                   const std::string& time) {
    doc::editor out = conditions.ensure_entry("type", type);
    const std::string_view status = holds ? "True" : "False";
    if (out.get("status").as_string() != status) out.set("lastTransitionTime", time);
    out.set("status", status).set("reason", reason).set("message", message);
}

// What a Pod says of itself when its Job is pending, ready, done or, with none of them, has failed.
struct pod_look {
    const char* phase;
    const char* state;
    const char* reason;
    bool ready;
    int exit_code;
};

doc::ref pod_status(doc::arena& memory, doc::ref pod, const pod_look& look, const std::string& time,
                    std::uint64_t address) {
    doc::editor out = doc::editor::object(memory);
    out.set("phase", look.phase);
    out.set("podIP", fmt::format("10.{}.{}.{}", address % 200 + 10, address / 256 % 250, address / 65536 % 250 + 2));
    out.set("startTime", pod.get({"metadata", "creationTimestamp"}));
    doc::editor conditions = out.ensure_array("conditions");
    for (const auto& [type, holds] : {std::pair{"PodScheduled", true}, std::pair{"Initialized", true},
                                      std::pair{"ContainersReady", look.ready}, std::pair{"Ready", look.ready}}) {
        conditions.append_object()
            .set("type", type)
            .set("status", holds ? "True" : "False")
            .set("lastTransitionTime", time);
    }
    doc::editor states = out.ensure_array("containerStatuses");
    for (const doc::ref each : pod.get({"spec", "containers"}).items()) {
        doc::editor one = states.append_object();
        one.set("name", each.get("name")).set("image", each.get("image")).set("imageID", "").set("restartCount", 0);
        one.set("ready", look.ready).set("started", look.ready);
        doc::editor state = one.ensure_object("state").ensure_object(look.state);
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

base::result<player_script> read_script(std::string_view text, const player_script& defaults) {
    player_script out = defaults;
    using ending = player_script::ending;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view phrase = trimmed(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t gap = phrase.find(' ');
        const std::string_view word = phrase.substr(0, gap);
        if (phrase.empty()) continue;
        if (word == "start" || word == "ready" || word == "run") {
            const auto value = gap == std::string_view::npos ? std::nullopt : read_time(trimmed(phrase.substr(gap)));
            if (!value)
                return base::fail(base::errc::invalid,
                                  fmt::format("script: behind '{}' comes a time such as 500ms, 3s or 2m", word));
            (word == "start" ? out.start : word == "ready" ? out.ready : out.run) = *value;
        } else if (phrase == "succeed" || phrase == "fail" || phrase == "never") {
            out.end = phrase == "succeed" ? ending::succeed : phrase == "fail" ? ending::fail : ending::never;
        } else if (phrase == "pods" || phrase == "no-pods") {
            out.pods = phrase == "pods";
        } else {
            return base::fail(base::errc::invalid,
                              fmt::format("script: '{}' is unknown; there are start, ready, run with a time, and "
                                          "succeed, fail, never, pods, no-pods",
                                          phrase));
        }
    }
    return out;
}

player::player(cluster& of, player_script script, std::uint64_t seed)
    : cluster_(of), script_(script), random_(seed), job_sets_(type("jobset.x-k8s.io", "v1alpha2", "jobsets")) {
    if (job_sets_ == nullptr) throw std::logic_error("a player needs a cluster that knows JobSets");
}

std::optional<player::time> player::due() const {
    return steps_.empty() ? std::nullopt : std::optional{steps_.top().at};
}

bool player::act(time now, base::seconds_time wall) {
    wall_ = wall;
    wrote_ = false;
    const store& objects = cluster_.objects();
    if (seen_ < objects.compacted()) {
        const std::uint64_t version = objects.version();
        for (const record_ptr& each : objects.list(*job_sets_, {.version = version})) take(*each, now);
        seen_ = version;
    }
    int left = act_items_max;
    while (const change* const next = left > 0 ? objects.next(seen_) : nullptr) {
        --left;
        seen_ = next->version;
        // A copy: writes add to the history and may drop this one.
        if (next->of == job_sets_) notice(change{*next}, now);
    }
    for (left = act_items_max; left > 0 && !steps_.empty() && steps_.top().at <= now; --left) {
        const step todo = steps_.top();
        steps_.pop();
        const auto found = sets_.find(todo.uid);
        if (found != sets_.end() && found->second.round == todo.round) advance(found->second, todo.which, now);
    }
    return wrote_;
}

void player::notice(const change& what, time now) {
    if (what.after) {
        take(*what.after, now);
    } else if (what.last) {
        sets_.erase(what.last->uid);
    }
}

void player::take(const record& state, time now) {
    if (state.deleting) {
        sets_.erase(state.uid);
        return;
    }
    doc::arena memory;
    const auto known = sets_.find(state.uid);
    if (known != sets_.end() && known->second.ended) return;
    const doc::ref object = open(memory, state);
    const bool suspended = object.get({"spec", "suspend"}).as_bool(false);
    if (known != sets_.end()) {
        if (known->second.suspended == suspended) return;
        known->second.suspended = suspended;
        ++known->second.round;
        if (suspended) return suspend(known->second);
        write_status(known->second, "Resumed");
        return begin_parts(known->second, now);
    }
    if (has_ended(object)) return;
    played set{.id = {job_sets_, {state.ns, state.name}}, .uid = state.uid, .script = script_, .suspended = suspended};
    std::string text{object.get({"metadata", "annotations", script_annotation}).as_string()};
    for (const auto& [uid, blocks] : state.owners) {
        const auto owner = cluster_.objects().find_uid(uid);
        const record_ptr above =
            owner ? cluster_.objects().find(*owner->of, owner->key.first, owner->key.second) : nullptr;
        if (above && text.empty())
            text = open(memory, *above).get({"metadata", "annotations", script_annotation}).as_string();
    }
    // A script that cannot be read is as none: the JobSet's author finds the player's own times.
    if (const auto own = read_script(text, script_)) set.script = *own;
    const doc::ref targets = object.get({"spec", "successPolicy", "targetReplicatedJobs"});
    for (const doc::ref job : object.get({"spec", "replicatedJobs"}).items()) {
        const doc::ref wish = job.get({"template", "spec"});
        part made{.name = std::string{job.get("name").as_string()},
                  .replicas = job.get("replicas").as_int(1),
                  .pods = wish.get("parallelism").as_int(wish.get("completions").as_int(1))};
        for (const doc::ref each : job.get("dependsOn").items())
            made.waits_for.push_back(
                {std::string{each.get("name").as_string()}, each.get("status").as_string() != "Ready"});
        made.ends_it = targets.empty() || std::ranges::any_of(targets.items(), [&](doc::ref each) {
                           return each.as_string() == made.name;
                       });
        set.parts.push_back(std::move(made));
    }
    played& kept = sets_.insert_or_assign(state.uid, std::move(set)).first->second;
    if (suspended) return suspend(kept);
    write_gang(kept, "Pending");
    begin_parts(kept, now);
}

// Those whose turn it is.
void player::begin_parts(played& set, time now) {
    const auto is_met = [&](const dependency& each) {
        const auto found = std::ranges::find(set.parts, each.name, &part::name);
        return found == set.parts.end() || found->at == stage::done || (!each.complete && found->at == stage::ready);
    };
    for (std::size_t i = 0; i < set.parts.size(); ++i) {
        part& each = set.parts[i];
        if (each.at != stage::waiting || !std::ranges::all_of(each.waits_for, is_met)) continue;
        each.at = stage::starting;
        plan(set, i, now + set.script.start);
    }
}

void player::plan(const played& set, std::size_t which, time at) { steps_.push({at, set.uid, which, set.round}); }

void player::advance(played& set, std::size_t which, time now) {
    part& of = set.parts[which];
    // Others wait for its end.
    const bool initial = std::ranges::any_of(set.parts, [&](const part& other) {
        return std::ranges::any_of(other.waits_for,
                                   [&](const dependency& d) { return d.complete && d.name == of.name; });
    });
    switch (of.at) {
        case stage::waiting:
        case stage::done: return;
        case stage::starting:
            of.at = stage::pending;
            make_jobs(set, of);
            plan(set, which, now + set.script.ready);
            break;
        case stage::pending:
            of.at = stage::ready;
            show_state(set, of, stage::ready);
            if (initial || (of.ends_it && set.script.end != player_script::ending::never))
                plan(set, which, now + (initial ? set.script.run / 2 : set.script.run));
            begin_parts(set, now);
            break;
        case stage::ready:
            if (!initial && set.script.end == player_script::ending::fail) {
                show_state(set, of, stage::waiting);
                return end(set, "Failed");
            }
            of.at = stage::done;
            show_state(set, of, stage::done);
            begin_parts(set, now);
            break;
    }
    const auto over = [](const part& each) { return !each.ends_it || each.at == stage::done; };
    if (std::ranges::all_of(set.parts, over)) return end(set, "Completed");
    const auto runs = [](const part& each) { return each.at == stage::ready || each.at == stage::done; };
    if (of.at == stage::ready && std::ranges::all_of(set.parts, runs)) write_gang(set, "Running");
    write_status(set);
}

void player::end(played& set, std::string_view condition) {
    set.ended = true;
    for (part& each : set.parts) {
        if (each.at != stage::done && condition == "Completed") remove_jobs(set, each);
    }
    write_gang(set, condition == "Completed" ? "Finished" : "Failed");
    write_status(set, condition);
    set.parts.clear();
    set.parts.shrink_to_fit();
}

void player::suspend(played& set) {
    for (part& each : set.parts) {
        remove_jobs(set, each);
        each.at = stage::waiting;
    }
    write_status(set, "Suspended");
}

void player::patch_status(const object_id& what, doc::ref status) {
    doc::arena memory;
    doc::editor patch = doc::editor::object(memory);
    patch.set("status", deep_copy(memory, status));
    const target at{what.of, what.key.first, what.key.second, true};
    // It may be gone, or going: then nobody misses its status.
    if (cluster_.patch(at, patch_type::merge, patch, as("jobset"), wall_)) wrote_ = true;
}

void player::write_status(const played& set, std::string_view condition) {
    const record_ptr state = cluster_.objects().find(*set.id.of, set.id.key.first, set.id.key.second);
    if (!state) return;
    doc::arena memory;
    const doc::ref live = open(memory, *state);
    doc::editor status = doc::editor::object(memory);
    doc::editor parts = status.ensure_array("replicatedJobsStatus");
    for (const part& each : set.parts) {
        doc::editor out = parts.append_object();
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
        doc::editor conditions = doc::editor::array(memory);
        for (const doc::ref each : live.get({"status", "conditions"}).items())
            conditions.append(doc::editor::of(memory, deep_copy(memory, each)));
        const char* const type = found->holds ? found->type : "Suspended";
        set_condition(conditions, type, found->holds, found->reason, found->message, base::format_time(wall_));
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
        doc::arena memory;
        doc::editor status = doc::editor::object(memory);
        status.set("phase", phase).set("running", running);
        patch_status({of, set.id.key}, status);
    }
}

void player::make_jobs(const played& set, const part& of) {
    if (!set.script.pods || !of.shown()) return;
    const record_ptr state = cluster_.objects().find(*set.id.of, set.id.key.first, set.id.key.second);
    const kind* const jobs = type("batch", "v1", "jobs");
    if (!state || jobs == nullptr) return;
    doc::arena memory;
    const doc::ref job = open(memory, *state).get({"spec", "replicatedJobs"}).find_by("name", of.name);
    const doc::ref wish = job.get("template");
    for (std::int64_t i = 0; i < of.replicas; ++i) {
        doc::editor out = doc::editor::object(memory);
        const std::string name = job_name(state->name, of.name, i);
        doc::editor metadata = out.ensure_object("metadata");
        metadata.set("name", name);
        doc::editor labels = copy_texts(metadata, "labels", wish);
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
                      doc::ref pod_template) {
    doc::arena memory;
    doc::editor out = doc::editor::object(memory);
    doc::editor metadata = out.ensure_object("metadata");
    metadata.set("generateName", fmt::format("{}-{}-", job.name, index));
    doc::editor labels = copy_texts(metadata, "labels", pod_template);
    labels.set(jobset_name, set.id.key.second).set(replicated_job, of.name).set("job-name", job.name);
    labels.set(job_index, fmt::format("{}", replica)).set(completion_index, fmt::format("{}", index));
    copy_texts(metadata, "annotations", pod_template).set(completion_index, fmt::format("{}", index));
    own(metadata, "batch/v1", "Job", job.name, job.uid);
    out.set("spec", deep_copy(memory, pod_template.get("spec")));
    doc::editor spec = out.ensure_object("spec");
    const std::uint64_t place = random_.next();
    spec.set("nodeName", fmt::format("node-{}", place % nodes));
    spec.set("hostname", fmt::format("{}-{}", job.name, index));
    spec.set_default("subdomain", set.id.key.second);
    if (cluster_.create({type("", "v1", "pods"), job.ns}, out, as("job-controller"), wall_)) wrote_ = true;
}

// `waiting` means failed.
void player::show_state(const played& set, const part& of, stage at) {
    const kind* const jobs = type("batch", "v1", "jobs");
    if (!set.script.pods || !of.shown() || jobs == nullptr) return;
    const pod_look look = at == stage::pending ? pod_look{"Pending", "waiting", "ContainerCreating", false, 0}
                          : at == stage::ready ? pod_look{"Running", "running", "", true, 0}
                          : at == stage::done  ? pod_look{"Succeeded", "terminated", "Completed", false, 0}
                                               : pod_look{"Failed", "terminated", "Error", false, 1};
    const std::string stamp = base::format_time(wall_);
    for (std::int64_t i = 0; i < of.replicas; ++i) {
        const record_ptr job =
            cluster_.objects().find(*jobs, set.id.key.first, job_name(set.id.key.second, of.name, i));
        if (!job) continue;
        for (const object_id& pod : cluster_.objects().dependents(job->uid)) {
            const record_ptr state = cluster_.objects().find(*pod.of, pod.key.first, pod.key.second);
            doc::arena memory;
            const std::uint64_t address = std::hash<std::string>{}(state->uid);
            patch_status(pod, pod_status(memory, open(memory, *state), look, stamp, address));
        }
        doc::arena memory;
        doc::editor status = doc::editor::object(memory);
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
