// Stores and the way into them for answers to writes.
#include "watch/cluster.hpp"

namespace cotrain::watch {

std::optional<kind> find_kind(const api::resource_type& type) {
    for (const kind k : all_kinds()) {
        const kube::resource& of = info_of(k).of;
        if (of.kind == type.kind && of.group == type.group) return k;
    }
    return std::nullopt;
}

kind kind_of(const api::resource_type& type) { return find_kind(type).value(); }

key_parts split_key(std::string_view key) {
    const std::size_t slash = key.find('/');
    return {key.substr(0, slash), key.substr(slash + 1)};
}

cluster::cluster(text_table& texts, const stores& all, base::logger& log,
                 const std::vector<std::string_view>& child_suffixes)
    : texts_(texts), stores_(all) {
    for (const kind k : all_kinds()) {
        intakes_[static_cast<std::size_t>(k)] =
            std::make_unique<intake>(k, store(k), texts_, answers_, log, "", child_suffixes);
    }
}

const object_record* cluster::find(kind k, std::string_view ns, std::string_view name) const {
    const auto at = store(k).find(ns, name);
    return at ? store(k).get(*at) : nullptr;
}

std::uint64_t cluster::note(kind of, std::string_view object) {
    intake& in = *intakes_[static_cast<std::size_t>(of)];
    object_view seen;
    if (!decode_object(object, seen, in.parts())) return 0;
    const std::uint64_t version = version_number(seen.resource_version.raw);
    if (version != 0 && (!progress_ || version > progress_(of, seen.ns.raw))) in.upsert(seen, false);
    return version;
}

void cluster::restore(kind of, const deletion_watch& since, std::string_view object) {
    if (since.deleted()) return;
    intake& in = *intakes_[static_cast<std::size_t>(of)];
    object_view seen;
    if (!decode_object(object, seen, in.parts())) return;
    if (!store(of).find(seen.ns.raw, seen.name.raw)) in.upsert(seen);
}

void cluster::drop(kind of, std::string_view ns, std::string_view name) {
    object_store& in = store(of);
    if (const auto at = in.find(ns, name)) in.remove(*at);
}

}  // namespace cotrain::watch
