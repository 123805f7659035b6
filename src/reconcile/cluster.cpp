// Stores and the way into them for answers to writes.
#include "reconcile/cluster.hpp"

#include "watch/finished.hpp"

namespace cotrain::reconcile {

watch::kind kind_of(const api::resource_type& type) {
    for (const watch::kind k : watch::all_kinds()) {
        const kube::resource& of = watch::info_of(k).of;
        if (of.kind == type.kind && of.group == type.group) return k;
    }
    return watch::kind::config_map;
}

cluster::cluster(watch::text_table& texts, const stores& all, base::logger& log) : texts_(texts), stores_(all) {
    for (const watch::kind k : watch::all_kinds()) {
        intakes_[static_cast<std::size_t>(k)] =
            std::make_unique<watch::intake>(k, store(k), texts_, nobody_, log, &store(watch::kind::train_job));
    }
}

void cluster::settle(watch::text_id job) {
    const watch::object_store& jobs = store(watch::kind::train_job);
    const auto at = jobs.find(job);
    if (!at) return;
    watch::shrink_finished(
        jobs, *jobs.get(*at),
        {&store(watch::kind::job_set), &store(watch::kind::config_map), &store(watch::kind::secret)});
}

const watch::object_record* cluster::find(watch::kind k, std::string_view ns, std::string_view name) const {
    const auto at = store(k).find(ns, name);
    return at ? store(k).get(*at) : nullptr;
}

std::uint64_t cluster::note(watch::kind of, std::string_view object) {
    watch::intake& in = *intakes_[static_cast<std::size_t>(of)];
    watch::object_view seen;
    if (!watch::decode_object(object, seen, in.parts())) return 0;
    const std::uint64_t version = watch::version_number(seen.resource_version.raw);
    if (version != 0 && (!progress_ || version > progress_(of, seen.ns.raw))) in.upsert(seen, false);
    return version;
}

void cluster::restore(watch::kind of, const watch::deletion_watch& since, std::string_view object) {
    if (since.deleted()) return;
    watch::intake& in = *intakes_[static_cast<std::size_t>(of)];
    watch::object_view seen;
    if (!watch::decode_object(object, seen, in.parts())) return;
    if (!store(of).find(seen.ns.raw, seen.name.raw)) in.upsert(seen);
}

void cluster::drop(watch::kind of, std::string_view ns, std::string_view name) {
    watch::object_store& in = store(of);
    if (const auto at = in.find(ns, name)) in.remove(*at);
}

}  // namespace cotrain::reconcile
