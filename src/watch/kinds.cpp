// Decoding of the specs and statuses that are looked into.
#include "watch/kinds.hpp"

#include <algorithm>
#include <limits>

#include "api/snapshot_hash.hpp"

namespace cotrain::watch {

namespace {

std::int32_t small_integer(json_cursor& in) {
    const std::int64_t value = in.integer();
    if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
        in.fail("an integer of 32 bits");
    return static_cast<std::int32_t>(value);
}

truth read_truth(json_cursor& in) {
    const json_text text = in.text();
    return text.is("True") ? truth::yes : text.is("False") ? truth::no : truth::unknown;
}

void read_condition(json_cursor& in, status_lists& out) {
    std::string_view name;
    if (!in.enter_object()) return;
    condition_view c;
    while (in.next_member(name)) {
        if (name == "type")
            c.type = in.text();
        else if (name == "status")
            c.status = read_truth(in);
        else if (name == "reason")
            c.reason = in.text();
        else if (name == "message")
            c.message = in.text();
        else if (name == "lastTransitionTime")
            c.last_transition_time = in.text();
        else if (name == "observedGeneration")
            c.observed_generation = in.integer();
        else
            in.skip();
    }
    if (out.conditions.size() == conditions_max) return in.fail("fewer conditions");
    if (!c.type.empty()) out.conditions.push_back(c);
}

void read_counts(json_cursor& in, status_lists& out) {
    std::string_view name;
    if (!in.enter_object()) return;
    job_counts_view job;
    while (in.next_member(name)) {
        if (name == "name")
            job.name = in.text();
        else if (name == "ready")
            job.ready = small_integer(in);
        else if (name == "succeeded")
            job.succeeded = small_integer(in);
        else if (name == "failed")
            job.failed = small_integer(in);
        else if (name == "active")
            job.active = small_integer(in);
        else if (name == "suspended")
            job.suspended = small_integer(in);
        else
            in.skip();
    }
    if (out.jobs.size() == jobs_max) return in.fail("fewer jobs");
    out.jobs.push_back(job);
}

template <class Read>
void read_list(json_cursor& in, status_lists& out, Read read) {
    if (!in.enter_array()) return;
    while (in.next_item()) read(in, out);
}

}  // namespace

void train_job_reader::clear() {
    runtime_name = runtime_group = runtime_kind = managed_by = {};
    suspend = false;
    active_deadline_seconds = 0;
    ttl_seconds = -1;
    snapshot_hash = {};
    status.conditions.clear();
    status.jobs.clear();
}

void train_job_reader::read_runtime_ref(json_cursor& in) {
    std::string_view name;
    if (!in.enter_object()) return;
    while (in.next_member(name)) {
        if (name == "name")
            runtime_name = in.text();
        else if (name == "apiGroup")
            runtime_group = in.text();
        else if (name == "kind")
            runtime_kind = in.text();
        else
            in.skip();
    }
}

void train_job_reader::read_spec(json_cursor& in) {
    std::string_view name;
    if (!in.enter_object()) return;
    while (in.next_member(name)) {
        if (name == "runtimeRef")
            read_runtime_ref(in);
        else if (name == "suspend")
            suspend = in.boolean();
        else if (name == "managedBy")
            managed_by = in.text();
        else if (name == "activeDeadlineSeconds")
            active_deadline_seconds = in.integer();
        else if (name == "ttlSecondsAfterFinished")
            ttl_seconds = in.integer();
        else
            in.skip();
    }
}

void train_job_reader::read_status(json_cursor& in) {
    std::string_view name;
    if (!in.enter_object()) return;
    while (in.next_member(name)) {
        if (name == "conditions")
            read_list(in, status, read_condition);
        else if (name == "jobsStatus")
            read_list(in, status, read_counts);
        else if (name == api::names::snapshot_hash_member)
            snapshot_hash = in.text();
        else
            in.skip();
    }
}

void job_set_reader::clear() {
    suspend = false;
    terminal_state = {};
    restarts = 0;
    status.conditions.clear();
    status.jobs.clear();
}

void job_set_reader::read_spec(json_cursor& in) {
    std::string_view name;
    if (!in.enter_object()) return;
    while (in.next_member(name)) {
        if (name == "suspend")
            suspend = in.boolean();
        else
            in.skip();
    }
}

void job_set_reader::read_status(json_cursor& in) {
    std::string_view name;
    if (!in.enter_object()) return;
    while (in.next_member(name)) {
        if (name == "conditions")
            read_list(in, status, read_condition);
        else if (name == "replicatedJobsStatus")
            read_list(in, status, read_counts);
        else if (name == "terminalState")
            terminal_state = in.text();
        else if (name == "restarts")
            restarts = small_integer(in);
        else
            in.skip();
    }
}

namespace {

// Goes down one path of members and lists, and calls `leaf` at its end.
template <class Leaf>
void walk(json_cursor& in, const std::string_view* path, std::size_t length, Leaf& leaf) {
    if (length == 0) return leaf(in);
    if (*path == "[]") {
        if (!in.enter_array()) return;
        while (in.next_item()) walk(in, path + 1, length - 1, leaf);
        return;
    }
    std::string_view name;
    if (!in.enter_object()) return;
    while (in.next_member(name)) {
        if (name == *path)
            walk(in, path + 1, length - 1, leaf);
        else
            in.skip();
    }
}

}  // namespace

base::result<std::vector<json_text>> decode_runtime_classes(const object_view& runtime) {
    // Runtime → JobSet template → Job template → pod template.
    static constexpr std::string_view path[] = {"template", "spec", "replicatedJobs",  "[]", "template", "spec",
                                                "template", "spec", "runtimeClassName"};
    std::vector<json_text> found;
    if (runtime.spec.empty()) return found;
    json_cursor in(runtime.spec);
    auto leaf = [&found](json_cursor& at) {
        const json_text name = at.text();
        const auto same = [&name](const json_text& known) { return known.raw == name.raw; };
        if (!name.empty() && std::ranges::none_of(found, same)) found.push_back(name);
    };
    walk(in, path, std::size(path), leaf);
    if (!in.ok()) return base::fail(in.error().during("runtime's spec"));
    return found;
}

}  // namespace cotrain::watch
