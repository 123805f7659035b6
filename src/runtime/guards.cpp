// The framework's own checks on plans.
#include "runtime/guards.hpp"

#include <algorithm>
#include <string>

#include "runtime/snapshot.hpp"

namespace cotrain::runtime {

std::unexpected<base::error> foreign_child(const api::resource_type& type, std::string_view name) {
    std::string message(type.kind);
    message.append(" ").append(name).append(
        " exists and is not controlled by this TrainJob: delete it, or give the TrainJob another name");
    return base::fail(base::make_error(base::errc::invalid, base::retry::later, std::move(message)));
}

base::result<> begin_objects(api::arena& memory, const api::train_job& job, const compiled_runtime& runtime,
                             const observed& seen, object_list& out) {
    const std::string name = child_name(job, api::names::snapshot_suffix);
    switch (seen.state_of(api::names::config_map, name)) {
        case child_state::ours: break;
        case child_state::foreign: return foreign_child(api::names::config_map, name);
        case child_state::absent: out.push_back(make_snapshot(memory, job, runtime)); break;
    }
    return {};
}

base::result<> refuse_foreign(const object_list& objects, const observed& seen) {
    for (const auto& o : objects) {
        if (seen.state_of(*o.type, o.name) == child_state::foreign) return foreign_child(*o.type, o.name);
    }
    return {};
}

void add_source(std::vector<event_source>& all, const event_source& source) {
    const bool known = std::ranges::any_of(all, [&](const event_source& s) {
        return s.type->kind == source.type->kind && s.type->group == source.type->group && s.whom == source.whom;
    });
    if (!known) all.push_back(source);
}

}  // namespace cotrain::runtime
