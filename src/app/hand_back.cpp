// Which JobSets are concerned, and what of them gets a second owner.
#include "app/hand_back.hpp"

#include <algorithm>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "api/managed_fields.hpp"
#include "api/names.hpp"
#include "reconcile/trainjob_templates.hpp"

namespace cotrain::app {

namespace {

namespace names = api::names;

bool of_train_job(api::ref job_set) {
    return std::ranges::any_of(job_set.get({"metadata", "ownerReferences"}).items(), [](api::ref owner) {
        return owner.get("controller").as_bool(false) && owner.get("kind").as_string() == names::train_job_kind &&
               owner.get("apiVersion").as_string().starts_with(names::trainer_group);
    });
}

bool is_over(api::ref job_set) {
    return std::ranges::any_of(job_set.get({"status", "conditions"}).items(), [](api::ref c) {
        const std::string_view type = c.get("type").as_string();
        return (type == names::job_set_completed || type == names::job_set_failed) &&
               c.get("status").as_string() == "True";
    });
}

}  // namespace

hand_back plan_hand_back(api::ref job_set) {
    const api::ref meta = job_set.get("metadata");
    if (!of_train_job(job_set) || is_over(job_set) || !meta.get("deletionTimestamp").is_unset()) return {};
    if (api::applied_fields(job_set, second_owner)) return {hand_back_need::done};
    api::arena memory;
    const api::ref jobs = reconcile::applied_fixed_jobs(memory, job_set);
    if (jobs.empty()) return {};
    api::editor out = api::editor::object(memory);
    out.set("apiVersion", names::job_set.api_version).set("kind", names::job_set.kind);
    api::editor identity = out.ensure_object("metadata");
    // With its uid, so that none is made where this one has gone meanwhile.
    for (const std::string_view key : {"namespace", "name", "uid"}) identity.set(key, meta.get(key));
    out.ensure_object("spec").set("replicatedJobs", jobs);
    return {hand_back_need::some, api::to_json(out)};
}

}  // namespace cotrain::app
