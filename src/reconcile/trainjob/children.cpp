#include "reconcile/trainjob/children.hpp"

#include <string>

#include "watch/cluster.hpp"

namespace cotrain::reconcile {

child_types::child_types(const runtime::plugin_set& plugins) {
    for (const runtime::child& c : plugins.children()) {
        const watch::kind of = watch::kind_of(*c.type);
        all_.push_back({c, of});
        if (of != watch::kind::job_set && !std::ranges::contains(kinds_, of)) kinds_.push_back(of);
    }
}

watch::kind_set kinds_to_watch(const runtime::plugin_set& plugins) {
    watch::kind_set out = watch::watched_kinds();
    for (const watch::kind k : watch::all_kinds()) {
        const auto is_it = [k](const auto& declared) { return watch::kind_of(*declared.type) == k; };
        const bool declared =
            std::ranges::any_of(plugins.children(), is_it) || std::ranges::any_of(plugins.event_sources(), is_it);
        if (watch::info_of(k).on_demand && !declared) out.reset(static_cast<std::size_t>(k));
    }
    return out;
}

std::vector<std::string_view> file_suffixes(const runtime::plugin_set& plugins) {
    std::vector<std::string_view> out;
    for (const runtime::child& c : plugins.children())
        if (is_file(watch::kind_of(*c.type)) && !c.suffix.empty()) out.push_back(c.suffix);
    return out;
}

base::result<> check_plugins(const runtime::plugin_set& plugins) {
    const auto refuse = [](const api::resource_type& type, std::string_view why) {
        std::string message = "a plugin declares " + std::string(type.kind);
        if (!type.group.empty()) message.append(".").append(type.group);
        return base::fail(base::errc::invalid, message.append(", ").append(why));
    };
    constexpr std::string_view unknown = "of which the operator keeps no records";
    for (const runtime::child& c : plugins.children()) {
        if (!watch::find_kind(*c.type)) return refuse(*c.type, unknown);
        if (watch::kind_of(*c.type) == watch::kind::secret && !c.immutable)
            return refuse(*c.type, "which is not watched: as a child it has to be immutable");
    }
    for (const runtime::event_source& s : plugins.event_sources()) {
        const auto of = watch::find_kind(*s.type);
        if (!of) return refuse(*s.type, unknown);
        if (!watch::info_of(*of).watched) return refuse(*s.type, "which is not watched");
    }
    if (plugins.children().size() > child_types::size_max)
        return base::fail(base::errc::invalid, "plugins declare more than 64 children");
    return {};
}

}  // namespace cotrain::reconcile
