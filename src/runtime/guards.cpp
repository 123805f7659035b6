// The framework's own checks on plans.
#include "runtime/guards.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "api/validation.hpp"
#include "runtime/bounds.hpp"
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
        case child_state::ours:
        case child_state::premade: break;
        case child_state::foreign: return foreign_child(api::names::config_map, name);
        case child_state::absent: out.push_back(make_snapshot(memory, job, runtime)); break;
    }
    return {};
}

bool is_premade(const api::resource_type& type, std::string_view name, api::ref object) {
    namespace names = api::names;
    if (type.kind == names::coscheduling_pod_group.kind) return true;
    const auto holds = [&](std::string_view key) { return !object.get({"data", key}).as_string().empty(); };
    return type.kind == names::secret.kind && name.ends_with(names::ssh_auth_suffix) &&
           object.get("type").as_string() == names::ssh_secret_type && holds(names::ssh_private_key) &&
           holds(names::ssh_public_key);
}

base::result<> refuse_foreign(const object_list& objects, const observed& seen) {
    if (seen.foreign_later) return {};
    for (const auto& o : objects) {
        if (seen.state_of(*o.type, o.name) == child_state::foreign) return foreign_child(*o.type, o.name);
    }
    return {};
}

base::result<> refuse_oversized(const object_list& objects) {
    for (const auto& o : objects) {
        if (o.json.size() <= object_bytes_max) continue;
        std::string message(o.type->kind);
        message.append(" ").append(o.name).append(" would be larger than the ");
        message.append(std::to_string(object_bytes_max)).append(" bytes that the API server takes");
        return base::fail(base::errc::too_large, std::move(message));
    }
    return {};
}

std::optional<bad_name> find_bad_name(const info& i, std::string_view job_name) {
    const auto fault_of = [](std::string_view name) { return api::join(api::check_dns1123_label(name)); };
    // A name that is yet to be generated is checked when it is there.
    if (auto fault = fault_of(job_name); !job_name.empty() && !fault.empty()) {
        return bad_name{"metadata.name", job_name, std::move(fault)};
    }
    if (i.subdomain() != job_name) {
        if (auto fault = fault_of(i.subdomain()); !fault.empty()) {
            return bad_name{"network.subdomain", i.subdomain(), std::move(fault)};
        }
    }
    for (const auto& set : i.pod_sets()) {
        if (auto fault = fault_of(set.name); !fault.empty()) {
            return bad_name{"replicatedJobs[" + std::to_string(set.index) + "].name", set.name, std::move(fault)};
        }
    }
    return std::nullopt;
}

base::result<> check_names(const info& i, std::string_view job_name) {
    constexpr std::size_t shown_bytes_max = 100;
    const auto bad = find_bad_name(i, job_name);
    if (!bad) return {};
    return base::fail(base::errc::invalid,
                      bad->what + " \"" + base::one_line(bad->name, shown_bytes_max) + "\": " + bad->fault);
}

base::result<> check_pods(const info& i) {
    if (i.pods() <= pods_max) return {};
    return base::fail(base::errc::too_large, "a job of " + std::to_string(i.pods()) + " pods: it can have " +
                                                 std::to_string(pods_max) + " at most");
}

void add_source(std::vector<event_source>& all, const event_source& source) {
    const bool known = std::ranges::any_of(all, [&](const event_source& s) {
        return s.type->kind == source.type->kind && s.type->group == source.type->group && s.whom == source.whom;
    });
    if (!known) all.push_back(source);
}

}  // namespace cotrain::runtime
