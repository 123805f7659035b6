#include "reconcile/trainjob/view.hpp"

namespace cotrain::reconcile {

namespace {

using watch::kind;

std::uint64_t mix(std::uint64_t hash, std::uint64_t a, std::uint64_t b) {
    const std::uint64_t both[] = {a, b};
    return watch::hash_bytes({reinterpret_cast<const char*>(both), sizeof both}, hash);
}

// In any order: lists of children are not sorted.
std::uint64_t digest_of_children(const job_view& v) {
    std::uint64_t sum = 0;
    for (const kind k : v.children->kinds()) {
        const auto& store = v.all->store(k);
        store.for_each_of(v.key, [&](watch::handle h, const watch::object_record& r) {
            const std::uint64_t state = is_file(k) ? r.version : stored_object{&r, store.body(h)}.state();
            sum += mix(static_cast<std::uint64_t>(k), r.key, state);
        });
        // A PodGroup of the job's name that is not its own counts by being there.
        if (is_file(k)) continue;
        if (const auto at = store.find(v.key); at && store.get(*at)->group != v.key)
            sum += mix(static_cast<std::uint64_t>(k), store.get(*at)->id.low, 0);
    }
    return sum;
}

std::int64_t placed(const watch::object_body& of) {
    std::int64_t sum = 0;
    for (const watch::stored_counts& c : of.counts()) sum += std::int64_t{c.ready} + c.succeeded;
    return sum;
}

}  // namespace

stored_object job_view::find(kind of, std::string_view called) const {
    const auto& store = all->store(of);
    const auto at = store.find(ns(), called);
    return at ? stored_object{store.get(*at), store.body(*at)} : stored_object{};
}

stored_object job_view::find(const child_type& c) const {
    if (!c.suffix.empty()) return find(c.of, std::string(name()).append(c.suffix));
    const auto& store = all->store(c.of);
    const auto at = store.find(key);
    return at ? stored_object{store.get(*at), store.body(*at)} : stored_object{};
}

bool job_view::pods_start_again() const {
    if (!owns_set() || set_body == nullptr || job->suspend || job->terminal() || set->terminal()) return false;
    return placed(*set_body) < placed(*body);
}

std::string_view job_view::set_spec() const {
    if (!owns_set() || set_body == nullptr || set_body->spec_left_out) return {};
    return set_body->spec();
}

job_view view_of(const watch::cluster& all, const child_types& children, watch::text_id key) {
    job_view out{.all = &all, .children = &children, .key = key};
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

std::uint64_t told_digest(const job_view& v) {
    const watch::stored_told& told = v.body->told;
    const std::uint32_t job[] = {told.message, told.start, told.restarts, told.nodes, told.nodes_ready, v.body->state};
    const std::uint64_t print = watch::hash_bytes({reinterpret_cast<const char*>(job), sizeof job});
    if (!v.owns_set() || v.set_body == nullptr) return print;
    return mix(print, v.set_body->told.restarts, v.set_body->told.nodes);
}

std::uint64_t digest_of(const job_view& v) {
    std::uint64_t print = mix(v.body->spec_print, v.job->id.low, v.job->deleting);
    if (v.set != nullptr) {
        const std::uint64_t set = v.set_body == nullptr ? 1 : v.set_body->spec_print ^ v.set_body->told.nodes;
        print = mix(print, v.set->id.low, set);
    }
    return mix(print, digest_of_children(v), 0);
}

}  // namespace cotrain::reconcile
