// Reads and writes the status of a TrainJob.
#include <algorithm>
#include <array>

#include "api/trainjob.hpp"

namespace cotrain::api {

namespace {

constexpr std::array<std::string_view, job_states> state_words{
    "", "Pending", "Starting", "Running", "Restarting", "Suspending", "Suspended", "Blocked", "Complete", "Failed"};

doc::ref encode_jobs(doc::arena& memory, const std::vector<job_status>& jobs) {
    doc::editor out = doc::editor::array(memory);
    for (const job_status& job : jobs) {
        out.append_object()
            .set("name", job.name)
            .set("ready", job.ready)
            .set("succeeded", job.succeeded)
            .set("failed", job.failed)
            .set("active", job.active)
            .set("suspended", job.suspended);
    }
    return out;
}

void set_if(doc::editor& out, doc::word key, const std::string& text) {
    if (!text.empty()) out.set(key, text);
}

// People read the summary: columns show one member.
doc::ref encode_nodes(doc::arena& memory, const node_counts& nodes) {
    doc::editor out = doc::editor::object(memory);
    out.set("desired", nodes.desired).set("ready", nodes.ready);
    out.set("summary", std::to_string(nodes.ready) + "/" + std::to_string(nodes.desired));
    set_if(out, "selector", nodes.selector);
    return out;
}

doc::ref encode_failures(doc::arena& memory, const std::vector<job_failure>& failures) {
    doc::editor list = doc::editor::array(memory);
    for (const job_failure& f : failures) {
        doc::editor out = list.append_object();
        out.set("attempt", f.attempt).set("time", base::format_time(f.time));
        set_if(out, "pod", f.pod);
        if (f.rank) out.set("rank", *f.rank);
        set_if(out, "node", f.node);
        set_if(out, "container", f.container);
        if (f.exit_code) out.set("exitCode", *f.exit_code);
        set_if(out, "reason", f.reason);
        set_if(out, "message", f.message);
        out.set("pods", f.pods);
    }
    return list;
}

doc::ref time_value(doc::arena& memory, const base::seconds_time& t) {
    return doc::ref::make_plain_string(memory.copy(base::format_time(t)));
}

// Sets what `to` has otherwise than `from`; what only `from` has becomes null.
template <class T, class Encode>
void set_changed(doc::editor& out, doc::word key, const std::optional<T>& from, const std::optional<T>& to,
                 Encode encode) {
    if (from == to) return;
    if (to) {
        out.set(key, encode(*to));
    } else {
        out.set(key, doc::ref::make_null());
    }
}

void write_own(doc::arena& memory, doc::editor& out, const train_job_status& from, const train_job_status& to) {
    const auto as_time = [&](const base::seconds_time& t) { return time_value(memory, t); };
    const auto same = [](std::int32_t n) { return n; };
    const auto as_nodes = [&](const node_counts& n) { return encode_nodes(memory, n); };
    if (from.state != to.state && to.state != job_state::none) out.set("state", to_string(to.state));
    if (from.message != to.message) out.set("message", to.message);
    set_changed(out, "startTime", from.start_time, to.start_time, as_time);
    set_changed(out, "completionTime", from.completion_time, to.completion_time, as_time);
    set_changed(out, "restarts", from.restarts, to.restarts, same);
    set_changed(out, "nodes", from.nodes, to.nodes, as_nodes);
    if (from.failures != to.failures) out.set("failures", encode_failures(memory, to.failures));
}

}  // namespace

std::string_view to_string(job_state s) { return state_words[static_cast<std::size_t>(s)]; }

job_state job_state_of(std::string_view word) {
    const auto at = std::ranges::find(state_words, word);
    return at == state_words.end() ? job_state::none : static_cast<job_state>(at - state_words.begin());
}

void bound_failure(job_failure& failure) {
    for (std::string* const name : {&failure.pod, &failure.node}) *name = name->substr(0, failure_name_bytes_max);
    for (std::string* const word : {&failure.container, &failure.reason})
        *word = base::one_line(*word, failure_word_bytes_max);
    failure.message = base::one_line(failure.message, failure_message_bytes_max);
}

std::vector<job_failure> decode_failures(const doc::place& list) {
    std::vector<job_failure> out(std::min(list.size(), failures_max));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const doc::place from = list.object_item(list.size() - out.size() + i);
        job_failure& f = out[i];
        std::optional<base::seconds_time> time;
        from.read("attempt", f.attempt);
        from.read("time", time);
        f.time = time.value_or(base::seconds_time{});
        from.read("pod", f.pod);
        from.read("rank", f.rank);
        from.read("node", f.node);
        from.read("container", f.container);
        from.read("exitCode", f.exit_code);
        from.read("reason", f.reason);
        from.read("message", f.message);
        from.read("pods", f.pods);
    }
    return out;
}

train_job_status decode_train_job_status(const doc::place& from) {
    train_job_status out;
    out.conditions = decode_conditions(from);
    const doc::place jobs = from.array("jobsStatus");
    out.jobs.resize(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const doc::place entry = jobs.object_item(i);
        job_status& job = out.jobs[i];
        entry.read("name", job.name);
        entry.read("ready", job.ready);
        entry.read("succeeded", job.succeeded);
        entry.read("failed", job.failed);
        entry.read("active", job.active);
        entry.read("suspended", job.suspended);
    }
    std::string_view state;
    from.read("state", state);
    out.state = job_state_of(state);
    from.read("message", out.message);
    from.read("startTime", out.start_time);
    from.read("completionTime", out.completion_time);
    from.read("restarts", out.restarts);
    if (const doc::place nodes = from.object("nodes")) {
        out.nodes.emplace();
        nodes.read("desired", out.nodes->desired);
        nodes.read("ready", out.nodes->ready);
    }
    out.failures = decode_failures(from.array("failures"));
    return out;
}

doc::ref status_patch(doc::arena& memory, const train_job_status& from, const train_job_status& to) {
    if (from == to) return {};
    doc::editor patch = doc::editor::object(memory);
    doc::editor status = patch.ensure_object("status");
    if (from.conditions != to.conditions) status.set("conditions", encode_conditions(memory, to.conditions));
    // Empty lists, not null: the CRD refuses a status without members.
    if (from.jobs != to.jobs) status.set("jobsStatus", encode_jobs(memory, to.jobs));
    // Without a state the others are not there either: a client without our fields wrote the status.
    write_own(memory, status, from.state == job_state::none ? train_job_status{} : from, to);
    return patch;
}

doc::ref encode_status(doc::arena& memory, const train_job_status& status) {
    doc::editor out = doc::editor::object(memory);
    if (!status.conditions.empty()) out.set("conditions", encode_conditions(memory, status.conditions));
    if (!status.jobs.empty()) out.set("jobsStatus", encode_jobs(memory, status.jobs));
    write_own(memory, out, {}, status);
    return out;
}

}  // namespace cotrain::api
