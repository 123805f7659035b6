// The framework's own checks on plans, and sums over pod sets.
#include "runtime/guards.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "api/validation.hpp"
#include "runtime/object.hpp"
#include "runtime/plugin_set.hpp"

namespace cotrain::runtime {

std::unexpected<base::error> foreign_child(const api::resource_type& type, std::string_view name) {
    std::string message(type.kind);
    message.append(" ").append(name).append(
        " exists and is not controlled by this TrainJob: delete it, or give the TrainJob another name");
    return base::fail(base::make_error(base::errc::invalid, base::retry::later, std::move(message)));
}

base::result<> begin_objects(doc::arena& memory, const api::train_job& job, const compiled_runtime& runtime,
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

bool plugin_set::is_premade(const api::resource_type& type, std::string_view name, doc::ref object) const {
    return std::ranges::any_of(children(), [&](const child& c) {
        return same_type(*c.type, type) && name.ends_with(c.suffix) && c.premade != nullptr && c.premade(object);
    });
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

base::result<> refuse_undeclared(const object_list& objects, std::span<const child> children,
                                 std::string_view job_name) {
    for (const object& o : objects) {
        const auto is_it = [&](const child& c) {
            return same_type(*c.type, *o.type) && o.name.size() == job_name.size() + c.suffix.size() &&
                   o.name.starts_with(job_name) && o.name.ends_with(c.suffix);
        };
        if (std::ranges::any_of(children, is_it)) continue;
        return base::fail(base::errc::internal, std::string(o.type->kind) + " " + o.name +
                                                    " is none of the children that its plugin declares");
    }
    return {};
}

void keep_immutable(object_list& objects, std::span<const child> children, const observed& seen) {
    std::erase_if(objects, [&](const object& o) {
        const auto state = seen.state_of(*o.type, o.name);
        if (state != child_state::ours && state != child_state::premade) return false;
        return std::ranges::any_of(children, [&](const child& c) {
            return c.immutable && same_type(*c.type, *o.type) && o.name.ends_with(c.suffix);
        });
    });
}

base::result<bool> to_be_made(const child& of, const api::train_job& job, const observed& seen, object_list& out) {
    std::string name = child_name(job, of.suffix);
    const auto state = seen.state_of(*of.type, name);
    if (state == child_state::foreign) {
        if (!seen.foreign_later) return foreign_child(*of.type, name);
        out.push_back({of.type, std::move(name), {}});
    }
    return state == child_state::absent;
}

base::error is_switched_off(std::string_view plugin) {
    return base::make_error(base::errc::invalid, base::retry::later,
                            "the runtime needs plugin " + std::string(plugin) +
                                ", which the operator's configuration switches off (plugins.disabled)");
}

base::error needs_gate(std::string_view gate) {
    return base::make_error(base::errc::invalid, base::retry::later,
                            "the runtime needs the operator's feature gate " + std::string(gate) + ", which is closed");
}

void refuse_field(std::string_view field, std::string_view gate, const api::training_runtime& runtime, doc::ref before,
                  verdict& out) {
    const doc::ref now = runtime.document.get({"spec", field});
    if (now.is_unset() || (before && equal(now, before.get({"spec", field})))) return;
    out.forbidden("spec." + std::string(field), needs_gate(gate).message);
}

base::error not_optional(std::string_view plugin, std::string_view optional) {
    return base::make_error(base::errc::invalid, base::retry::never,
                            "plugins.disabled: \"" + base::one_line(plugin, 63) +
                                "\" is none of those that can be switched off: " + std::string(optional));
}

base::result<gang> gang_of(const info& i) {
    gang out;
    if (auto good = check_pods(i); !good) return base::fail(std::move(good.error()));
    std::int64_t members = 0;
    for (const auto& set : i.pod_sets()) {
        auto one = pod_requests(i.pod_spec_view(set));
        if (!one) return base::fail(std::move(one.error()).during("job " + std::string(set.name)));
        members += i.gang_pods(set);
        one->multiply(i.gang_pods(set));
        out.resources.add(*one);
    }
    out.members = static_cast<std::int32_t>(members);
    if (const auto* const name = out.resources.overflowed()) {
        return base::fail(base::errc::too_large, "all pods together ask for more " + *name + " than can be counted");
    }
    return out;
}

base::result<std::optional<doc::editor>> pod_group_of(const info& i, const api::train_job& job, const observed& seen,
                                                      const api::resource_type& type) {
    const auto state = seen.state_of(type, job.meta.name);
    if (state == child_state::foreign && !seen.foreign_later) return foreign_child(type, job.meta.name);
    const bool runs = !job.spec.suspend && seen.job_set != nullptr;
    if (state == child_state::premade || (state == child_state::ours && runs)) return std::nullopt;
    const auto size = gang_of(i);
    if (!size) return base::fail(size.error());
    if (size->members == 0) return std::nullopt;  // schedulers want one member at least
    doc::editor group = new_child(i.memory(), type, job.meta.name, job);
    group.ensure_object("spec")
        .set("minMember", size->members)
        .set("minResources", size->resources.document(i.memory()));
    return group;
}

void scale_trainer(info& i, const api::train_job& job) {
    if (!job.spec.trainer || !job.spec.trainer->num_nodes) return;
    if (pod_set* const set = i.trainer()) set->count = *job.spec.trainer->num_nodes;
}

}  // namespace cotrain::runtime
