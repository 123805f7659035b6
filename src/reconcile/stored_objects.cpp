#include "reconcile/stored_objects.hpp"

#include "base/json_text.hpp"
#include "doc/json.hpp"
#include "watch/decode.hpp"
#include "watch/intake.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

base::seconds_time time_of(std::uint32_t seconds) { return base::seconds_time{std::chrono::seconds{seconds}}; }

api::condition_status status_of(watch::truth t) {
    if (t == watch::truth::yes) return api::condition_status::yes;
    return t == watch::truth::no ? api::condition_status::no : api::condition_status::unknown;
}

api::condition_list conditions_of(const watch::cluster& all, const watch::object_body& body) {
    api::condition_list out;
    out.reserve(body.conditions().size());
    for (const watch::stored_condition& c : body.conditions()) {
        out.push_back({.type = std::string(all.texts().view(c.type)),
                       .status = status_of(c.status),
                       .reason = std::string(all.texts().view(c.reason)),
                       .message = std::string(all.texts().view(c.message)),
                       .last_transition_time = time_of(c.last_transition)});
    }
    return out;
}

void set_told(api::train_job_status& out, const watch::cluster& all, const watch::stored_told& told) {
    constexpr std::uint32_t absent = watch::stored_told::absent;
    out.message = all.texts().view(told.message);
    if (told.start != 0) out.start_time = time_of(told.start);
    if (told.restarts != absent) out.restarts = static_cast<std::int32_t>(told.restarts);
    if (told.nodes != absent)
        out.nodes = {static_cast<std::int32_t>(told.nodes), static_cast<std::int32_t>(told.nodes_ready)};
}

std::vector<api::job_failure> failures_of(std::string_view json) {
    if (json.empty()) return {};
    doc::arena memory;
    const auto list = doc::parse_json(memory, json);
    doc::decoding outcome("status.failures");
    if (!list || !list->is_array()) return {};
    return api::decode_failures(doc::place(outcome, *list));
}

api::train_job_status status_of(const watch::cluster& all, const watch::object_record& record,
                                const watch::object_body& body) {
    api::train_job_status out;
    out.conditions = conditions_of(all, body);
    for (const watch::stored_counts& c : body.counts()) {
        out.jobs.push_back(
            {std::string(all.texts().view(c.name)), c.ready, c.succeeded, c.failed, c.active, c.suspended});
    }
    out.state = static_cast<api::job_state>(body.state);
    set_told(out, all, body.told);
    if (record.terminal() && record.finished != 0 && out.state != api::job_state::none)
        out.completion_time = time_of(record.finished);
    out.failures = failures_of(body.failures());
    return out;
}

void set_times(api::object_meta& meta, const watch::object_record& record) {
    if (record.created != 0) meta.creation_time = time_of(record.created);
    if (record.deleting) meta.deletion_time = time_of(record.created);
}

std::string_view uid_text(doc::arena& memory, const watch::cluster& all, const watch::uid& id) {
    return id.empty() ? std::string_view{} : memory.copy(watch::to_text(all.texts(), id));
}

}  // namespace

std::uint64_t stored_object::state() const {
    if (body != nullptr) return body->spec_print;
    return record == nullptr ? 0 : record->version;
}

base::result<api::train_job> decode_job(doc::arena& memory, const watch::cluster& all, const stored_object& stored,
                                        std::string_view object) {
    const auto [ns, name] = watch::split_key(all.texts().view(stored.record->key));
    std::string_view spec = stored.body->spec();
    std::string annotations(stored.body->extra());
    if (watch::object_view whole; !object.empty() && watch::decode_object(object, whole)) {
        spec = whole.spec;
        annotations = watch::read_annotations(whole.annotations);
    }
    std::string text;
    text.reserve(spec.size() + 512);
    text.append(R"({"apiVersion":")").append(names::trainer_api_version).append(R"(","kind":"TrainJob","metadata":{)");
    base::append_json_string(text.append(R"("name":)"), name);
    base::append_json_string(text.append(R"(,"namespace":)"), ns);
    base::append_json_string(text.append(R"(,"uid":)"), watch::to_text(all.texts(), stored.record->id));
    if (!annotations.empty()) text.append(R"(,"annotations":{)").append(annotations).append("}");
    text.append(R"(},"spec":)").append(spec.empty() ? "{}" : spec).append("}");
    const auto document = doc::parse_json_copy(memory, text);
    if (!document) return base::fail(document.error());
    auto job = api::decode_train_job(*document);
    if (!job) return job;
    set_times(job->meta, *stored.record);
    job->status = status_of(all, *stored.record, *stored.body);
    return job;
}

api::train_job bare_job(doc::arena& memory, const watch::cluster& all, const stored_object& stored) {
    const auto [ns, name] = watch::split_key(all.texts().view(stored.record->key));
    api::train_job job;
    job.meta.ns = memory.copy(ns);
    job.meta.name = memory.copy(name);
    job.meta.uid = uid_text(memory, all, stored.record->id);
    set_times(job.meta, *stored.record);
    job.spec.suspend = stored.record->suspend;
    job.spec.active_deadline_seconds = stored.body->deadline_seconds;
    job.spec.runtime = {{}, names::trainer_group, names::cluster_training_runtime_kind};
    job.status = status_of(all, *stored.record, *stored.body);
    return job;
}

api::job_set job_set_of(doc::arena& memory, const watch::cluster& all, const stored_object& set) {
    const auto [ns, name] = watch::split_key(all.texts().view(set.record->key));
    api::job_set out;
    out.meta.ns = memory.copy(ns);
    out.meta.name = memory.copy(name);
    out.meta.uid = uid_text(memory, all, set.record->id);
    set_times(out.meta, *set.record);
    if (!set.record->owner.empty())
        out.meta.owner_references.push_back({.uid = uid_text(memory, all, set.record->owner), .controller = true});
    out.suspend = set.record->suspend;
    if (set.body == nullptr) return out;
    out.conditions = conditions_of(all, *set.body);
    for (const watch::stored_counts& c : set.body->counts()) {
        out.jobs.push_back({memory.copy(all.texts().view(c.name)), c.ready, c.succeeded, c.failed, c.active,
                            c.suspended, c.replicas, c.node_pods});
    }
    out.restarts = static_cast<std::int32_t>(set.body->told.restarts);
    if (set.body->told.nodes != watch::stored_told::absent) out.nodes = static_cast<std::int32_t>(set.body->told.nodes);
    out.terminal_state = memory.copy(all.texts().view(set.body->terminal_state));
    return out;
}

}  // namespace cotrain::reconcile
