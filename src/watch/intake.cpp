#include "watch/intake.hpp"

#include <algorithm>
#include <new>

#include "api/names.hpp"
#include "api/workload.hpp"
#include "base/contain.hpp"
#include "kube/request.hpp"
#include "watch/job_shapes.hpp"
#include "watch/object_store.hpp"

namespace cotrain::watch {

// --- what is kept of each kind -------------------------------------------------------------------------------------

namespace names = api::names;

namespace {

constexpr std::size_t hash_bytes_max = 64;  // SHA-256 in hex

// The value of a label, in labels as they are written: neither keys nor values hold quotes or backslashes.
std::string_view label_of(std::string_view labels, std::string_view key) {
    const std::size_t at = labels.find(key);
    if (at == std::string_view::npos) return {};
    labels.remove_prefix(at + key.size());
    if (!labels.starts_with('"')) return {};
    const std::size_t begin = labels.find('"', 1);
    const std::size_t end = begin == std::string_view::npos ? begin : labels.find('"', begin + 1);
    return end == std::string_view::npos ? std::string_view{} : labels.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::string read_annotations(const known_annotations& of) {
    std::string out;
    for (const auto& [name, value] : {std::pair(names::num_proc_annotation, of.num_proc),
                                      {names::elastic_annotation, of.elastic},
                                      {names::topology_annotation, of.topology},
                                      {names::kueue_elastic_annotation, of.kueue_elastic}}) {
        if (value.empty() || value.escapes) continue;
        out.append(out.empty() ? "\"" : ",\"").append(name).append("\":\"").append(value.raw).append("\"");
    }
    return out;
}

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
    // Any other owner is known by its uid alone.
    out_.owner_uid = object.controller.uid.raw;
    if (!owned_by_train_job(object) || object.controller.name.raw.size() > kube::name_bytes_max) return;
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

const projection& projector::train_job(const object_view& object, const train_job_parts& parts, kept_before before) {
    begin(object);
    const std::string_view kind =
        parts.spec.runtime.kind.empty() ? names::cluster_training_runtime_kind : parts.spec.runtime.kind.raw;
    write_runtime_key(group_, kind, object.ns.raw, parts.spec.runtime.name.raw);
    out_.group = group_;
    out_.spec = object.spec;
    extra_ = read_annotations(object.annotations);
    out_.extra = extra_;
    out_.spec_left_out = out_.spec.size() + out_.extra.size() > spec_kept_bytes_max;
    out_.managed_by = parts.spec.managed_by.raw;
    out_.elsewhere = !parts.spec.managed_by.empty() && !parts.spec.managed_by.is(names::managed_by_self);
    out_.deadline_seconds = parts.spec.active_deadline_seconds;
    out_.ttl_seconds = parts.spec.ttl_seconds;
    out_.suspend = parts.spec.suspend;
    out_.snapshot_hash = parts.status.snapshot_hash.raw.substr(0, hash_bytes_max);
    out_.status = &parts.status;
    out_.told = &parts.status;
    out_.failures = parts.status.failures;
    if (parts.status.state.empty() && before.body != nullptr) {
        out_.erased = before.body->told;
        out_.erased.message = no_text;
        failures_ = before.body->failures();
        hash_ = before.body->snapshot_hash();
        out_.failures = failures_;
        if (out_.snapshot_hash.empty()) out_.snapshot_hash = hash_;
    }
    out_.queue = label_of(object.labels, names::kueue_queue_label);
    find_outcome(parts.status);
    out_.spec_left_out = out_.spec_left_out || out_.complete || out_.failed;
    // Nothing will be made from its snapshot; another Failed may be taken back.
    if (out_.complete || out_.past_deadline) out_.snapshot_hash = {};
    return out_;
}

// Once for each generation: the spec is not looked into again when counts change.
void projector::count_pods(const object_view& object, const status_lists& status, kept_before before) {
    pods_.assign(status.jobs.size(), {});
    out_.pods = pods_;
    const auto same = [&](const job_counts_view& now, const stored_counts& then) {
        return before.texts->view(then.name) == now.name.raw;
    };
    const object_body* const body = before.body;
    const bool known = body != nullptr && object.generation != 0 &&
                       body->generation == static_cast<std::uint32_t>(object.generation) && !status.jobs.empty() &&
                       std::ranges::equal(status.jobs, body->counts(), same);
    if (known) {
        const auto kept = [](const stored_counts& c) { return job_pods{c.replicas, c.node_pods}; };
        std::ranges::transform(body->counts(), pods_.begin(), kept);
        if (body->told.nodes != stored_told::absent) out_.nodes = static_cast<std::int32_t>(body->told.nodes);
        return;
    }
    const std::vector<api::job_shape> shapes = read_job_shapes(object.spec);
    const std::vector<std::int32_t> node_pods = api::node_pods(shapes);
    out_.nodes = api::count_nodes(shapes);
    for (std::size_t i = 0; i < pods_.size(); ++i) {
        const auto at = std::ranges::find(shapes, status.jobs[i].name.raw, &api::job_shape::name);
        if (at != shapes.end()) pods_[i] = {at->replicas, node_pods[static_cast<std::size_t>(at - shapes.begin())]};
    }
}

const projection& projector::job_set(const object_view& object, const job_set_parts& parts, kept_before before) {
    begin(object);
    find_owner(object);
    out_.suspend = parts.spec.suspend;
    if (parts.spec.suspend) {
        out_.spec = object.spec;
        keep_metadata({{"labels", object.labels}, {"annotations", object.annotations}});
        out_.spec_left_out = out_.spec.size() + out_.extra.size() > spec_kept_bytes_max;
    }
    out_.terminal_state = parts.status.terminal_state.raw;
    out_.restarts = parts.status.restarts;
    out_.status = &parts.status;
    find_outcome(parts.status);
    out_.collapse = !owned_by_train_job(object);
    if (!out_.collapse) count_pods(object, parts.status, before);
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

const projection& projector::pod_group(const object_view& object) {
    begin(object);
    find_owner(object);
    out_.spec = object.spec;
    out_.spec_left_out = out_.spec.size() > pod_group_spec_bytes_max;
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

// --- the way in ----------------------------------------------------------------------------------------------------

namespace {

namespace names = api::names;

constexpr std::uint64_t newest = ~std::uint64_t{0};

}  // namespace

intake::intake(kind of, object_store& store, text_table& texts, listener& to, base::logger& log, std::string_view ns,
               std::vector<std::string_view> child_suffixes)
    : of_(of), store_(store), texts_(texts), to_(to), log_(log), ns_(ns), child_suffixes_(std::move(child_suffixes)) {
    if (of == kind::train_job) parts_ = &train_job_;
    if (of == kind::job_set) parts_ = &job_set_;
}

const projection* intake::project_file(const object_view& object) {
    const auto is_end = [name = object.name.raw](std::string_view end) { return name.ends_with(end); };
    if (!owned_by_train_job(object) && std::ranges::none_of(child_suffixes_, is_end)) return nullptr;
    return &projector_.metadata(object);
}

const projection* intake::project(const object_view& object, std::optional<handle> known) {
    const bool same = known && store_.get(*known)->id == find_uid(texts_, object.uid.raw);
    const kept_before before{&texts_, same ? store_.body(*known) : nullptr};
    switch (of_) {
        case kind::train_job: return &projector_.train_job(object, train_job_, before);
        case kind::job_set: return &projector_.job_set(object, job_set_, before);
        case kind::training_runtime:
        case kind::cluster_training_runtime: return &projector_.runtime(object);
        case kind::coscheduling_pod_group:
        case kind::volcano_pod_group:
        case kind::workload:
        case kind::pod_group: return &projector_.pod_group(object);
        case kind::limit_range:
        case kind::runtime_class:
        case kind::priority_class: return &projector_.plain(object);
        case kind::secret:
        case kind::config_map: return project_file(object);
    }
    return nullptr;
}

// One object, and one thing that the listener makes of it, must not cost the others.
template <class Work>
void intake::contain(std::string_view ns, std::string_view name, Work work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        lost_ = true;
        note_mistake(ns, name);
    } catch (...) {
        note_mistake(ns, name);
    }
}

// In a catch block.
void intake::note_mistake(std::string_view ns, std::string_view name) {
    try {
        log_.error("unexpected exception", {{"in", "watched object"},
                                            {"kind", info_of(of_).label},
                                            {"namespace", ns},
                                            {"name", name},
                                            {"error", base::caught()}});
    } catch (const std::bad_alloc&) {
        lost_ = true;
    }
}

void intake::upsert(const object_view& object, bool shown) {
    contain(object.ns.raw, object.name.raw, [&] { take_in(object, shown); });
}

void intake::take_in(const object_view& object, bool shown) {
    const auto known = store_.find(object.ns.raw, object.name.raw);
    // The answer to our write was taken in, now its event comes; or the other way round.
    if (known && store_.repeats(*known, object.resource_version.raw, shown)) return;
    const projection* const p = project(object, known);
    if (p == nullptr) {
        if (known) drop(*known);
        return;
    }
    std::uint8_t also = nothing;
    text_use group(texts_, no_text);
    if (const object_record* const before = known ? store_.get(*known) : nullptr; before != nullptr) {
        if (find_uid(texts_, p->uid) != before->id && !object_store::outdated(*before, p->resource_version)) {
            drop(*known);
            also = replaced;
        } else {
            group.retain(before->group);
        }
    }
    const auto [at, changes] = store_.upsert(*p, shown);
    if (changes != nothing) {
        if (failure_of(parts_) != nullptr) complain(object);
        const object_record* const now = store_.get(at);
        contain(object.ns.raw, object.name.raw, [&] {
            to_.changed({.of = of_,
                         .at = at,
                         .object = now,
                         .changes = static_cast<std::uint8_t>(changes | also),
                         .group_before = group.id() == now->group ? no_text : group.id()});
        });
    }
}

void intake::remove(const object_view& object) {
    contain(object.ns.raw, object.name.raw, [&] {
        store_.tell_deleted(object.ns.raw, object.name.raw);
        const auto known = store_.find(object.ns.raw, object.name.raw);
        if (!known) return;
        const bool another = !object.uid.empty() && find_uid(texts_, object.uid.raw) != store_.get(*known)->id;
        if (!another) drop(*known);
    });
}

void intake::drop(handle h) {
    tell_removed(*store_.get(h));
    store_.remove(h);
}

void intake::tell_removed(const object_record& last) {
    const std::string_view key = texts_.view(last.key);
    const std::size_t slash = key.find('/');
    const std::string_view ns = slash == std::string_view::npos ? std::string_view{} : key.substr(0, slash);
    contain(ns, key.substr(slash + 1), [&] { to_.removed(of_, last); });
}

void intake::sweep(std::uint64_t version) {
    store_.sweep([this](const object_record& gone) { tell_removed(gone); }, version, ns_);
}

void intake::end_relist(std::string_view version) {
    const std::uint64_t number = version_number(version);
    sweep(number == 0 ? newest : number);
    contain(ns_, {}, [this] { to_.synced(of_); });
}

void intake::vanish() {
    begin_relist();
    sweep(newest);
    contain(ns_, {}, [this] { to_.missing(of_); });
}

// What an older definition let in is kept as far as it could be read.
void intake::complain(const object_view& object) {
    ++malformed_;
    log_.warn("object does not match its schema", {{"kind", info_of(of_).label},
                                                   {"namespace", object.ns.raw},
                                                   {"name", object.name.raw},
                                                   {"error", failure_of(parts_)->message}});
}

}  // namespace cotrain::watch
