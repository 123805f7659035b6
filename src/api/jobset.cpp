// Reading a JobSet's state.
#include "api/jobset.hpp"

#include <algorithm>

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

base::result<job_set> decode_job_set(ref document) {
    decoding outcome("JobSet");
    const place root(outcome, document);
    job_set out;
    out.document = document;
    if (!document.is_object()) root.expected("an object");
    out.meta = decode_meta(root);
    root.read_object("spec", out.spec);
    root.object("spec").read("suspend", out.suspend);
    const place status = root.object("status");
    out.conditions = decode_conditions(status);
    status.read("restarts", out.restarts);
    status.read("restartsCountTowardsMax", out.restarts_count_towards_max);
    status.read("terminalState", out.terminal_state);
    const place jobs = status.array("replicatedJobsStatus");
    out.jobs.resize(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const place from = jobs.object_item(i);
        replicated_job_status& job = out.jobs[i];
        from.read("name", job.name);
        from.read("ready", job.ready);
        from.read("succeeded", job.succeeded);
        from.read("failed", job.failed);
        from.read("active", job.active);
        from.read("suspended", job.suspended);
    }
    if (!outcome.ok()) return outcome.fail();
    return out;
}

}  // namespace cotrain::api
