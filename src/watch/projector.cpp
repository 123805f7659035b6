// From views of objects to what is kept of them.
#include "watch/projector.hpp"

#include "api/names.hpp"
#include "watch/object_store.hpp"

namespace cotrain::watch {

namespace names = api::names;

bool owned_by_train_job(const object_view& object) {
    const std::string_view group = object.controller.api_version.raw;
    return object.controller.kind.is(names::train_job_kind) && group.starts_with(names::trainer_group) &&
           group.substr(names::trainer_group.size()).starts_with('/');
}

// Names, uids and times hold nothing that JSON escapes, so they are taken as they stand.
void projector::begin(const object_view& object) {
    out_ = {};
    out_.ns = object.ns.raw;
    out_.name = object.name.raw;
    out_.uid = object.uid.raw;
    out_.resource_version = object.resource_version.raw;
    out_.creation_time = object.creation_time.raw;
    out_.generation = object.generation;
    out_.deleting = object.deleting();
}

void projector::find_owner(const object_view& object) {
    // Whoever else controls it is known by its uid alone.
    out_.owner_uid = object.controller.uid.raw;
    if (!owned_by_train_job(object)) return;
    out_.owner_ns = object.ns.raw;
    out_.owner_name = object.controller.name.raw;
}

void projector::keep_metadata(std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
    extra_.clear();
    for (const auto& [name, raw] : members) {
        if (raw.empty()) continue;
        extra_.append(extra_.empty() ? "{" : ",").append("\"").append(name).append("\":").append(raw);
    }
    if (!extra_.empty()) extra_.append("}");
    out_.extra = extra_;
}

// TrainJobs are "Complete", JobSets "Completed"; the first terminal condition wins.
void projector::find_outcome(const status_lists& status) {
    for (const condition_view& c : status.conditions) {
        if (c.status != truth::yes) {
            out_.troubled = out_.troubled || (c.status == truth::no && c.type.is(names::resources_ready));
            continue;
        }
        const bool complete = c.type.is(names::complete) || c.type.is(names::job_set_completed);
        const bool failed = c.type.is(names::failed);
        if ((!complete && !failed) || out_.complete || out_.failed) continue;
        out_.complete = complete;
        out_.failed = failed;
        out_.finished_time = c.last_transition_time.raw;
        out_.past_deadline = failed && c.reason.is(names::reason_deadline);
    }
}

const projection& projector::train_job(const object_view& object, const train_job_reader& parts) {
    begin(object);
    const std::string_view kind =
        parts.runtime_kind.empty() ? names::cluster_training_runtime_kind : parts.runtime_kind.raw;
    write_runtime_key(group_, kind, object.ns.raw, parts.runtime_name.raw);
    out_.group = group_;
    out_.spec = object.spec;
    if (const auto count = find_text(object.annotations, names::num_proc_annotation)) out_.extra = count->raw;
    out_.spec_left_out = out_.spec.size() + out_.extra.size() > spec_kept_bytes_max;
    out_.managed_by = parts.managed_by.raw;
    out_.elsewhere = !parts.managed_by.empty() && !parts.managed_by.is(names::managed_by_self);
    out_.deadline_seconds = parts.active_deadline_seconds;
    out_.ttl_seconds = parts.ttl_seconds;
    out_.suspend = parts.suspend;
    out_.snapshot_hash = parts.snapshot_hash.raw;
    out_.status = &parts.status;
    find_outcome(parts.status);
    out_.collapse = (out_.complete || out_.failed) && parts.ttl_seconds < 0;
    return out_;
}

const projection& projector::job_set(const object_view& object, const job_set_reader& parts, bool job_settled) {
    begin(object);
    find_owner(object);
    out_.suspend = parts.suspend;
    if (parts.suspend) {
        out_.spec = object.spec;
        keep_metadata({{"labels", object.labels}, {"annotations", object.annotations}});
        out_.spec_left_out = out_.spec.size() + out_.extra.size() > spec_kept_bytes_max;
    }
    out_.terminal_state = parts.terminal_state.raw;
    out_.status = &parts.status;
    find_outcome(parts.status);
    out_.collapse = job_settled;
    return out_;
}

const projection& projector::runtime(const object_view& object) {
    begin(object);
    out_.spec = object.spec;
    keep_metadata({{"labels", object.labels}, {"annotations", object.annotations}, {"finalizers", object.finalizers}});
    out_.held_back = object.finalizers.contains(names::resource_in_use_finalizer);
    return out_;
}

const projection& projector::plain(const object_view& object) {
    begin(object);
    find_owner(object);
    out_.spec = object.spec.empty() ? object.overhead : object.spec;
    out_.spec_left_out = out_.spec.size() > spec_kept_bytes_max;
    return out_;
}

const projection& projector::metadata(const object_view& object) {
    begin(object);
    find_owner(object);
    // What they hold is not known: any new version may mean a change.
    out_.extra = object.resource_version.raw;
    out_.collapse = true;
    return out_;
}

}  // namespace cotrain::watch
