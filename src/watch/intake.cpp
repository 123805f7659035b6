// From views to records, and from records to the listener.
#include "watch/intake.hpp"

#include <algorithm>
#include <array>

#include "api/names.hpp"
#include "base/contain.hpp"
#include "watch/finished.hpp"

namespace cotrain::watch {

namespace {

namespace names = api::names;

constexpr std::array child_suffixes{names::snapshot_suffix,        names::ssh_auth_suffix,   names::hostfile_suffix,
                                    names::flux_entrypoint_suffix, names::flux_curve_suffix, names::tls_config_suffix};

constexpr std::uint64_t newest = ~std::uint64_t{0};

}  // namespace

bool has_child_name(std::string_view name) {
    return std::ranges::any_of(child_suffixes, [name](std::string_view end) { return name.ends_with(end); });
}

intake::intake(kind of, object_store& store, text_table& texts, listener& to, base::logger& log,
               const object_store* jobs, std::string_view ns)
    : of_(of), store_(store), texts_(texts), to_(to), log_(log), jobs_(jobs), ns_(ns) {
    if (of == kind::train_job) parts_ = &train_job_;
    if (of == kind::job_set) parts_ = &job_set_;
}

const object_record* intake::owner_of(const projection& p) const {
    if (jobs_ == nullptr) return nullptr;
    const auto at = jobs_->find(p.owner_ns, p.owner_name);
    const object_record* const job = at ? jobs_->get(*at) : nullptr;
    return job != nullptr && job->id == find_uid(texts_, p.owner_uid) ? job : nullptr;
}

const projection* intake::project_file(const object_view& object) {
    if (!owned_by_train_job(object) && !has_child_name(object.name.raw)) return nullptr;
    const projection& p = projector_.metadata(object);
    const object_record* const job = owner_of(p);
    return job != nullptr && needs_no_files(*job) ? nullptr : &p;
}

const projection* intake::project_job_set(const object_view& object) {
    if (!owned_by_train_job(object)) return &projector_.job_set(object, job_set_, true);
    const projection& p = projector_.job_set(object, job_set_, false);
    const object_record* const job = owner_of(p);
    if (job == nullptr || !job->terminal()) return &p;
    const bool settled = jobs_->counts_print(*job) == prints_of(p).counts;
    if (!settled) return &p;
    // A job finds its JobSet by its own name; nobody looks for another.
    return needs_no_set(*job) && p.name == p.owner_name ? nullptr : &projector_.job_set(object, job_set_, true);
}

const projection* intake::project(const object_view& object) {
    switch (of_) {
        case kind::train_job: return &projector_.train_job(object, train_job_);
        case kind::job_set: return project_job_set(object);
        case kind::training_runtime:
        case kind::cluster_training_runtime: return &projector_.runtime(object);
        case kind::coscheduling_pod_group:
        case kind::volcano_pod_group:
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
    } catch (...) {
        log_.error("taking in a watched object ended in an exception, which is a mistake of the operator",
                   {{"kind", info_of(of_).label}, {"namespace", ns}, {"name", name}, {"error", base::caught()}});
    }
}

void intake::upsert(const object_view& object, bool shown) {
    contain(object.ns.raw, object.name.raw, [&] { take_in(object, shown); });
}

void intake::take_in(const object_view& object, bool shown) {
    const auto known = store_.find(object.ns.raw, object.name.raw);
    // The answer to our write was taken in, now its event comes; or the other way round.
    if (known && store_.repeats(*known, object.resource_version.raw, shown)) return;
    const projection* const p = project(object);
    if (p == nullptr) {
        if (known) drop(*known);
        return;
    }
    std::uint8_t also = nothing;
    text_id group = no_text;
    if (const object_record* const before = known ? store_.get(*known) : nullptr; before != nullptr) {
        if (find_uid(texts_, p->uid) != before->id && !object_store::outdated(*before, p->resource_version)) {
            drop(*known);
            also = replaced;
        } else {
            group = before->group;
            texts_.retain(group);
        }
    }
    const auto [at, changes] = store_.upsert(*p, shown);
    if (changes != nothing) {
        if (parts_ != nullptr && parts_->failure()) complain(object);
        const object_record* const now = store_.get(at);
        contain(object.ns.raw, object.name.raw, [&] {
            to_.changed({.of = of_,
                         .at = at,
                         .object = now,
                         .changes = static_cast<std::uint8_t>(changes | also),
                         .group_before = group == now->group ? no_text : group});
        });
    }
    texts_.release(group);
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

void intake::sweep(std::uint64_t picture) {
    store_.sweep([this](const object_record& gone) { tell_removed(gone); }, picture, ns_);
}

void intake::end_picture(std::string_view version) {
    const std::uint64_t number = version_number(version);
    sweep(number == 0 ? newest : number);
    contain(ns_, {}, [this] { to_.synced(of_); });
}

void intake::vanish() {
    begin_picture();
    sweep(newest);
    contain(ns_, {}, [this] { to_.missing(of_); });
}

// What an older definition let in is kept as far as it could be read.
void intake::complain(const object_view& object) {
    ++malformed_;
    log_.warn("object does not match its schema", {{"kind", info_of(of_).label},
                                                   {"namespace", object.ns.raw},
                                                   {"name", object.name.raw},
                                                   {"error", parts_->failure()->message}});
}

}  // namespace cotrain::watch
