// Chooses what is worth a line.
#include "app/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/cluster.hpp"

namespace cotrain::app {

namespace {

std::string_view label(api::ref object, std::string_view name) {
    return object.get({"metadata", "labels", name}).as_string();
}
constexpr std::string_view job_set_label = "jobset.sigs.k8s.io/jobset-name";

// The TrainJob that owns it; empty if none does.
std::string_view owner_of(api::ref object) {
    return object.get({"metadata", "ownerReferences"}).find_by("kind", "TrainJob").get("name").as_string();
}

std::string who_made(api::ref object) {
    const api::ref first = object.get({"metadata", "managedFields"}).at(0);
    return fmt::format("{} by {}", first.get("operation").as_string() == "Apply" ? "applied" : "written",
                       first.get("manager").as_string());
}

bool is_ready(api::ref pod) {
    return pod.get({"status", "conditions"}).find_by("type", "Ready").get("status").as_string() == "True";
}

std::string counts(api::ref job_set) {
    std::string out;
    for (const api::ref each : job_set.get({"status", "replicatedJobsStatus"}).items()) {
        const auto count = [&](const char* name) { return each.get(name).as_int(0); };
        const char* word = count("failed") > 0      ? "failed"
                           : count("succeeded") > 0 ? "succeeded"
                           : count("ready") > 0     ? "ready"
                           : count("suspended") > 0 ? "suspended"
                           : count("active") > 0    ? "starting"
                                                    : "";
        if (*word != '\0') out += fmt::format("{}{} {}", out.empty() ? "" : ", ", each.get("name").as_string(), word);
    }
    return out;
}

}  // namespace

void timeline::say(std::string_view who, std::string what) { lines_.push_back({std::string(who), std::move(what)}); }

job_course* timeline::find(std::string_view name) {
    const auto found = std::ranges::find(jobs_, name, &job_course::name);
    return found == jobs_.end() ? nullptr : &*found;
}

bool timeline::all_ended() const {
    return !jobs_.empty() && std::ranges::all_of(jobs_, [](const job_course& each) { return each.ended.has_value(); });
}

std::vector<timeline_line> timeline::tell(const sim::change& what, time now) {
    lines_.clear();
    api::arena memory;
    const api::ref before = what.before ? sim::open(memory, *what.before) : api::ref{};
    const api::ref after = what.after ? sim::open(memory, *what.after) : api::ref{};
    const std::string& name = what.of->name;
    if (name == "TrainJob") {
        tell_job(what, before, after, now);
    } else if (name == "Pod") {
        tell_pod(what, before, after);
    } else if (name == "JobSet" && before && after) {
        tell_job_set(before, after);
    } else if ((name == "TrainingRuntime" || name == "ClusterTrainingRuntime") && !before) {
        say(after.get({"metadata", "name"}).as_string(), name + " created");
    } else if (after && !before && !owner_of(after).empty()) {
        tell_child(*what.of, after, now);
    }
    return std::move(lines_);
}

void timeline::tell_job(const sim::change& what, api::ref before, api::ref after, time now) {
    if (!after) return say(what.last->name, "TrainJob deleted");
    const std::string_view name = what.after->name;
    if (!before) {
        jobs_.push_back({.name = std::string(name), .created = now});
        return say(name, "TrainJob created");
    }
    job_course* const course = find(name);
    for (const api::ref each : after.get({"status", "conditions"}).items()) {
        const std::string_view type = each.get("type").as_string();
        const api::ref old = before.get({"status", "conditions"}).find_by("type", type);
        const std::string_view status = each.get("status").as_string();
        if (old.get("status").as_string() == status) continue;
        say(name, fmt::format("condition {}={}: {}", type, status, each.get("message").as_string()));
        if (course == nullptr || status != "True") continue;
        course->condition = type;
        if (type == "Complete" || type == "Failed") course->ended = now;
    }
}

void timeline::tell_child(const sim::kind& of, api::ref object, time now) {
    const std::string_view who = owner_of(object);
    say(who, fmt::format("{} {} {}", of.name, object.get({"metadata", "name"}).as_string(), who_made(object)));
    job_course* const course = find(who);
    if (of.name == "JobSet" && course != nullptr) course->job_set = now;
}

void timeline::tell_job_set(api::ref before, api::ref after) {
    const std::string now = counts(after);
    if (now.empty() || now == counts(before)) return;
    say(after.get({"metadata", "name"}).as_string(), "JobSet: " + now);
}

void timeline::tell_pod(const sim::change& what, api::ref before, api::ref after) {
    const api::ref any = after ? after : before;
    job_course* const course = find(label(any, job_set_label));
    if (course == nullptr) return;
    if (!before) ++course->pods;
    if (!after) --course->pods;
    course->pods_ready += (after && is_ready(after) ? 1 : 0) - (before && is_ready(before) ? 1 : 0);
    if (after && !before) {
        say(course->name, fmt::format("Pod {} on {}", what.after->name, any.get({"spec", "nodeName"}).as_string()));
    }
}

}  // namespace cotrain::app
