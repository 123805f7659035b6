// From records to structs.
#include "reconcile/trainjob_records.hpp"

#include "api/json.hpp"
#include "api/time.hpp"
#include "base/json_text.hpp"
#include "watch/json_cursor.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;
using watch::kind;

struct child_name {
    kind of;
    const api::resource_type* type;
    std::string_view suffix;
};

constexpr std::array child_names{child_name{kind::config_map, &names::config_map, names::snapshot_suffix},
                                 child_name{kind::secret, &names::secret, names::ssh_auth_suffix},
                                 child_name{kind::config_map, &names::config_map, names::hostfile_suffix},
                                 child_name{kind::config_map, &names::config_map, names::flux_entrypoint_suffix},
                                 child_name{kind::secret, &names::secret, names::flux_curve_suffix},
                                 child_name{kind::config_map, &names::config_map, names::tls_config_suffix},
                                 child_name{kind::job_set, &names::job_set, {}},
                                 child_name{kind::coscheduling_pod_group, &names::coscheduling_pod_group, {}},
                                 child_name{kind::volcano_pod_group, &names::volcano_pod_group, {}}};

constexpr std::array metadata_kinds{kind::config_map, kind::secret};
constexpr std::array group_kinds{kind::coscheduling_pod_group, kind::volcano_pod_group};

api::seconds_time time_of(std::uint32_t seconds) { return api::seconds_time{std::chrono::seconds{seconds}}; }

api::condition_status status_of(watch::truth t) {
    if (t == watch::truth::yes) return api::condition_status::yes;
    return t == watch::truth::no ? api::condition_status::no : api::condition_status::unknown;
}

api::condition_list conditions_of(const cluster& all, const watch::object_body& body) {
    api::condition_list out;
    out.reserve(body.conditions().size());
    for (const watch::stored_condition& c : body.conditions()) {
        out.push_back({.type = std::string(all.texts().view(c.type)),
                       .status = status_of(c.status),
                       .reason = std::string(all.texts().view(c.reason)),
                       .message = std::string(body.message(c)),
                       .last_transition_time = time_of(c.last_transition)});
    }
    return out;
}

api::train_job_status status_of(const cluster& all, const job_records& seen) {
    api::train_job_status out;
    if (seen.body == nullptr) return out;
    out.conditions = conditions_of(all, *seen.body);
    for (const watch::stored_counts& c : seen.body->counts()) {
        out.jobs.push_back(
            {std::string(all.texts().view(c.name)), c.ready, c.succeeded, c.failed, c.active, c.suspended});
    }
    return out;
}

void set_times(api::object_meta& meta, const watch::object_record& record) {
    if (record.created != 0) meta.creation_time = time_of(record.created);
    if (record.deleting) meta.deletion_time = time_of(record.created);
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t a, std::uint64_t b) {
    const std::uint64_t both[] = {a, b};
    return watch::hash_bytes({reinterpret_cast<const char*>(both), sizeof both}, hash);
}

}  // namespace

job_records find_records(const cluster& all, watch::text_id key) {
    job_records out;
    out.key = key;
    const auto& jobs = all.store(kind::train_job);
    const auto at = jobs.find(key);
    if (!at) return out;
    out.job = jobs.get(*at);
    out.body = jobs.body(*at);
    const auto& sets = all.store(kind::job_set);
    if (const auto set = sets.find(key)) {
        out.set = sets.get(*set);
        out.set_body = sets.body(*set);
    }
    return out;
}

key_parts split_key(std::string_view key) {
    const std::size_t slash = key.find('/');
    return {key.substr(0, slash), key.substr(slash + 1)};
}

std::uint64_t footprint(const cluster& all, const job_records& seen) {
    std::uint64_t print = mix(seen.body == nullptr ? 0 : seen.body->spec_print, seen.job->id.low, seen.job->deleting);
    if (seen.set != nullptr) {
        print = mix(print, seen.set->id.low, seen.set_body == nullptr ? 1 : seen.set_body->spec_print);
    }
    // In any order: lists of children are not sorted.
    std::uint64_t sum = 0;
    for (const kind k : metadata_kinds) {
        all.store(k).for_each_of(seen.key, [&](watch::handle, const watch::object_record& r) {
            sum += mix(static_cast<std::uint64_t>(k), r.key, r.version);
        });
    }
    for (const kind k : group_kinds) {
        const auto& store = all.store(k);
        store.for_each_of(seen.key, [&](watch::handle h, const watch::object_record& r) {
            const watch::object_body* const body = store.body(h);
            sum += mix(static_cast<std::uint64_t>(k), r.key, body == nullptr ? 0 : body->spec_print);
        });
        // One that is not the job's own counts by being there.
        if (const auto at = store.find(seen.key); at && store.get(*at)->group != seen.key)
            sum += mix(static_cast<std::uint64_t>(k), store.get(*at)->id.low, 0);
    }
    return mix(print, sum, 0);
}

std::string_view uid_text(api::arena& memory, const cluster& all, const watch::uid& id) {
    return id.empty() ? std::string_view{} : memory.copy(watch::to_text(all.texts(), id));
}

base::result<api::train_job> stored_job(api::arena& memory, const cluster& all, const job_records& seen,
                                        std::string_view object) {
    const auto [ns, name] = split_key(all.texts().view(seen.key));
    std::string_view spec = seen.body == nullptr ? std::string_view{} : seen.body->spec();
    std::string_view note = seen.body == nullptr ? std::string_view{} : seen.body->extra();
    if (watch::object_view whole; !object.empty() && watch::decode_object(object, whole)) {
        spec = whole.spec;
        if (const auto count = watch::find_text(whole.annotations, names::num_proc_annotation)) note = count->raw;
    }
    std::string text;
    text.reserve(spec.size() + 512);
    text.append(R"({"apiVersion":")").append(names::trainer_api_version).append(R"(","kind":"TrainJob","metadata":{)");
    base::append_json_string(text.append(R"("name":)"), name);
    base::append_json_string(text.append(R"(,"namespace":)"), ns);
    base::append_json_string(text.append(R"(,"uid":)"), watch::to_text(all.texts(), seen.job->id));
    if (!note.empty()) {
        base::append_json_string(text.append(R"(,"annotations":{)"), names::num_proc_annotation);
        std::string plain;  // the store keeps it as JSON spells it
        watch::append_unescaped(plain, note);
        base::append_json_string(text.append(":"), plain);
        text.append("}");
    }
    text.append(R"(},"spec":)").append(spec.empty() ? "{}" : spec).append("}");
    const auto document = api::parse_json_copy(memory, text);
    if (!document) return base::fail(document.error());
    auto job = api::decode_train_job(*document);
    if (!job) return job;
    set_times(job->meta, *seen.job);
    job->status = status_of(all, seen);
    return job;
}

api::train_job bare_job(api::arena& memory, const cluster& all, const job_records& seen) {
    const auto [ns, name] = split_key(all.texts().view(seen.key));
    api::train_job job;
    job.meta.ns = memory.copy(ns);
    job.meta.name = memory.copy(name);
    job.meta.uid = uid_text(memory, all, seen.job->id);
    set_times(job.meta, *seen.job);
    job.spec.suspend = seen.job->suspend;
    job.spec.runtime = {{}, names::trainer_group, names::cluster_training_runtime_kind};
    job.status = status_of(all, seen);
    return job;
}

api::job_set stored_job_set(api::arena& memory, const cluster& all, const job_records& seen,
                            const api::train_job_status& of) {
    const auto [ns, name] = split_key(all.texts().view(seen.key));
    api::job_set out;
    out.meta.ns = memory.copy(ns);
    out.meta.name = memory.copy(name);
    out.meta.uid = uid_text(memory, all, seen.set->id);
    set_times(out.meta, *seen.set);
    if (!seen.set->owner.empty()) {
        out.meta.owner_references.push_back({.uid = uid_text(memory, all, seen.set->owner), .controller = true});
    }
    out.suspend = seen.set->suspend;
    if (seen.set_body == nullptr) {
        const auto ended = [&](std::string_view theirs, std::string_view ours) {
            const api::condition* const said = api::find_condition(of.conditions, ours);
            api::condition c;
            if (said != nullptr) {
                c = *said;
            } else {  // somebody took it away; a condition without a reason is refused
                c.reason = theirs;
                c.message = "the JobSet has ended so";
            }
            c.type = theirs;
            c.status = api::condition_status::yes;
            out.conditions.push_back(std::move(c));
        };
        if (seen.set->complete) ended(names::job_set_completed, names::complete);
        if (seen.set->failed) ended(names::job_set_failed, names::failed);
        for (const auto& j : of.jobs) {
            out.jobs.push_back({memory.copy(j.name), j.ready, j.succeeded, j.failed, j.active, j.suspended});
        }
        return out;
    }
    out.conditions = conditions_of(all, *seen.set_body);
    for (const watch::stored_counts& c : seen.set_body->counts()) {
        out.jobs.push_back(
            {memory.copy(all.texts().view(c.name)), c.ready, c.succeeded, c.failed, c.active, c.suspended});
    }
    out.terminal_state = memory.copy(all.texts().view(seen.set_body->terminal_state));
    return out;
}

std::vector<runtime::observed_child> find_children(api::arena& memory, const cluster& all, const job_records& seen) {
    const std::string_view job = all.texts().view(seen.key);
    std::vector<runtime::observed_child> out;
    std::string wanted(job);
    for (const child_name& child : child_names) {
        wanted.resize(job.size());
        wanted.append(child.suffix);
        const watch::text_id key = child.suffix.empty() ? seen.key : all.texts().find(wanted);
        const auto at = all.store(child.of).find(key);
        if (!at) continue;
        const bool ours = all.store(child.of).get(*at)->owner == seen.job->id;
        out.push_back({child.type, memory.copy(split_key(wanted).name),
                       ours ? runtime::child_state::ours : runtime::child_state::foreign});
    }
    return out;
}

}  // namespace cotrain::reconcile
