// Jobs that had ended for good until somebody took their conditions away.
#include "reconcile/trainjob_attempt.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

}  // namespace

bool trainjob_reconciler::must_recall(const job_records& seen) const {
    if (!seen.job->reopened || seen.job->terminal()) return false;
    const auto known = memories_.find(seen.key);
    return known == memories_.end() || known->second.job != seen.job->id || !known->second.recalled;
}

// How it ended and what it is made of is not in the stores any more: the API server knows. Its Secrets are asked for
// where the job goes on, as those of every job (trainjob_secrets.cpp).
awaitable<outcome> trainjob_reconciler::recall(watch::text_id key) {
    const auto parts = split_key(all_.texts().view(key));
    const std::string ns(parts.ns);
    const std::string name(parts.name);
    const watch::uid job = find_records(all_, key).job->id;
    const std::pair<const api::resource_type*, std::string> wanted[] = {
        {&names::job_set, name}, {&names::config_map, name + std::string(names::snapshot_suffix)}};
    for (const auto& [type, called] : wanted) {
        const watch::deletion_watch since(all_.store(kind_of(*type)), ns, called);
        const auto answer = co_await api_.get({type, ns, called});
        if (answer) {
            all_.restore(kind_of(*type), since, *answer);
        } else if (answer.error().http_status != 404) {
            log_.warn(
                "cannot read the children of a TrainJob whose conditions were removed",
                {{"controller", "trainjob"}, {"namespace", ns}, {"name", name}, {"error", answer.error().message}});
            co_return outcome::failed_by(answer.error());
        }
    }
    const job_records now = find_records(all_, key);
    if (now.job == nullptr || now.job->id != job) co_return outcome::again_after({});
    job_memory& memory = memories_[key];
    if (memory.job != job) memory = job_memory{.job = job, .stirred = memory.stirred};
    memory.recalled = true;
    co_return outcome::again_after({});
}

}  // namespace cotrain::reconcile
