// Follows the cluster's history and writes the page's state.
#include "app/playground_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/json.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view job_set_label = "jobset.sigs.k8s.io/jobset-name";

bool is_ready(const sim::record_ptr& pod) {
    if (!pod) return false;
    api::arena memory;
    return sim::open(memory, *pod).get({"status", "conditions"}).find_by("type", "Ready").get("status").as_string() ==
           "True";
}

double percentile(std::vector<double> sorted, double part) {
    if (sorted.empty()) return 0;
    return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
}

api::ref decimal(api::arena& memory, double value) {
    return api::ref::make_number(memory.copy(fmt::format("{:.2f}", value)));
}

}  // namespace

playground_view::shown_job* playground_view::find(const std::string& ns, std::string_view name) {
    const auto found = by_name_.find(ns + "/" + std::string(name));
    return found == by_name_.end() ? nullptr : &*found->second;
}

bool playground_view::follow(time now) {
    bool changed = false;
    const sim::store& objects = cluster_.objects();
    seen_ = std::max(seen_, objects.compacted());
    while (const sim::change* const next = objects.next(seen_)) {
        seen_ = next->version;
        changed = take(*next, now) || changed;
    }
    return changed;
}

bool playground_view::take(const sim::change& what, time now) {
    const std::string& name = what.of->name;
    if (name == "TrainJob") return take_job(what, now);
    if (name == "JobSet") return take_job_set(what, now);
    if (name == "Pod") return take_pod(what);
    if (name == "Event") return take_event(what);
    return name == "PodGroup";
}

bool playground_view::take_job(const sim::change& what, time now) {
    const sim::record& any = what.after ? *what.after : *what.last;
    const std::string key = any.ns + "/" + any.name;
    const auto forget = [&](place at) {
        by_name_.erase(at->ns + "/" + at->name);
        jobs_.erase(at);
    };
    if (!what.after) {
        if (const auto found = by_name_.find(key); found != by_name_.end()) forget(found->second);
        return true;
    }
    if (what.before || by_name_.contains(key)) return true;
    ++jobs_ever_;
    jobs_.push_front({.ns = any.ns, .name = any.name, .created = now});
    by_name_[key] = jobs_.begin();
    if (jobs_.size() > shown_jobs_max) forget(std::prev(jobs_.end()));
    return true;
}

bool playground_view::take_job_set(const sim::change& what, time now) {
    if (!what.after || what.before) return true;
    shown_job* const job = find(what.after->ns, what.after->name);
    if (job == nullptr || job->latency_ms >= 0) return false;
    job->latency_ms = std::chrono::duration<double, std::milli>(now - job->created).count();
    latencies_ms_.push_back(job->latency_ms);
    if (latencies_ms_.size() > latencies_max) latencies_ms_.pop_front();
    return true;
}

bool playground_view::take_pod(const sim::change& what) {
    const sim::record& any = what.after ? *what.after : *what.before;
    const auto of = std::ranges::find(any.labels, job_set_label, &std::pair<std::string, std::string>::first);
    shown_job* const job = of == any.labels.end() ? nullptr : find(any.ns, of->second);
    if (job == nullptr) return false;
    job->pods += (what.after ? 1 : 0) - (what.before ? 1 : 0);
    job->pods_ready += (is_ready(what.after) ? 1 : 0) - (is_ready(what.before) ? 1 : 0);
    return true;
}

bool playground_view::take_event(const sim::change& what) {
    if (!what.after || what.before) return false;
    api::arena memory;
    const api::ref event = sim::open(memory, *what.after);
    const api::ref about = event.get("regarding");
    shown_job* const job = find(std::string(about.get("namespace").as_string()), about.get("name").as_string());
    if (job == nullptr) return false;
    job->events.push_front(fmt::format("{} {}: {}", event.get("type").as_string(), event.get("reason").as_string(),
                                       event.get("note").as_string()));
    if (job->events.size() > shown_events_max) job->events.pop_back();
    return true;
}

std::string playground_view::to_json() const {
    api::arena memory;
    api::editor out = api::editor::object(memory);
    std::vector<double> sorted(latencies_ms_.begin(), latencies_ms_.end());
    std::ranges::sort(sorted);
    out.set("jobsEver", jobs_ever_).set("measured", sorted.size());
    out.set("p50Ms", decimal(memory, percentile(sorted, 0.5))).set("p99Ms", decimal(memory, percentile(sorted, 0.99)));
    api::editor jobs = out.ensure_array("jobs");
    const sim::kind* const train_jobs = cluster_.types().find("trainer.kubeflow.org", "v1alpha1", "trainjobs");
    const sim::kind* const job_sets = cluster_.types().find("jobset.x-k8s.io", "v1alpha2", "jobsets");
    for (const shown_job& each : jobs_) {
        const sim::record_ptr state = train_jobs ? cluster_.objects().find(*train_jobs, each.ns, each.name) : nullptr;
        if (!state) continue;
        const api::ref object = sim::open(memory, *state);
        api::editor job = jobs.append_object();
        job.set("namespace", each.ns).set("name", each.name);
        job.set("runtime", object.get({"spec", "runtimeRef", "name"}).as_string());
        job.set("pods", each.pods).set("podsReady", each.pods_ready);
        if (each.latency_ms >= 0) job.set("latencyMs", decimal(memory, each.latency_ms));
        if (const api::ref conditions = object.get({"status", "conditions"})) job.set("conditions", conditions);
        if (const sim::record_ptr set = cluster_.objects().find(*job_sets, each.ns, each.name)) {
            if (const api::ref parts = sim::open(memory, *set).get({"status", "replicatedJobsStatus"}))
                job.set("parts", parts);
        }
        for (const auto& [group, version] :
             {std::pair{"scheduling.x-k8s.io", "v1alpha1"}, std::pair{"scheduling.volcano.sh", "v1beta1"}}) {
            const sim::kind* const of = cluster_.types().find(group, version, "podgroups");
            const sim::record_ptr gang = of ? cluster_.objects().find(*of, each.ns, each.name) : nullptr;
            if (!gang) continue;
            const api::ref whole = sim::open(memory, *gang);
            api::editor into = job.ensure_object("gang");
            into.set("minMember", whole.get({"spec", "minMember"}).as_int(0));
            into.set("phase", whole.get({"status", "phase"}).as_string("Pending"));
            into.set("running", whole.get({"status", "running"}).as_int(0));
        }
        api::editor events = job.ensure_array("events");
        for (const std::string& text : each.events) events.append(text);
    }
    return api::to_json(out);
}

}  // namespace cotrain::app
