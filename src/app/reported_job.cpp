// From records of a TrainJob and its JobSet; no request is made.
#include "app/reported_job.hpp"

namespace cotrain::app {

using watch::kind;

std::optional<serve::known_job> find_reported_job(const reconcile::cluster& all, const serve::reported_job& job) {
    const watch::object_record* const train_job = all.find(kind::train_job, job.ns, job.name);
    if (train_job == nullptr) return std::nullopt;
    serve::known_job out{.created = std::chrono::sys_seconds(std::chrono::seconds(train_job->created))};
    const watch::object_record* const set = all.find(kind::job_set, job.ns, job.name);
    if (set == nullptr || set->owner != train_job->id || set->collapsed) return out;
    for (const watch::stored_counts& each : set->body->counts())
        out.replicated_jobs.emplace_back(all.texts().view(each.name));
    return out;
}

}  // namespace cotrain::app
