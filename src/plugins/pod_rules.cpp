#include "plugins/pod_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/names.hpp"
#include "api/quantity.hpp"

namespace cotrain::plugins {
namespace {

using doc::ref;
namespace names = api::names;

constexpr std::size_t host_name_bytes_max = 63;
constexpr std::size_t shown_bytes_max = 100;  // of a name

// Kubernetes' own: without a domain, or of a domain of theirs.
bool is_native(std::string_view resource) { return !resource.contains('/') || resource.contains("kubernetes.io/"); }
bool is_extended(std::string_view resource) { return !is_native(resource) && !resource.starts_with("requests."); }
// More of it may be asked for than limits promise.
bool may_differ(std::string_view resource) { return is_native(resource) && !resource.starts_with("hugepages-"); }

// Amounts are not finer than this.
bool is_whole(const api::quantity& q) { return q.scaled_value(-9) % 1'000'000'000 == 0; }

struct place {
    std::string_view job;  // of the runtime
    std::string_view container;
    const api::trainer_spec* section = nullptr;  // spec.trainer, where it has its say
    const runtime::review* review;
    runtime::verdict* out;

    // `own`: the path in spec.trainer where the value comes from; empty: the runtime's, or a patch's.
    void warn(std::string_view own, std::string_view member, std::string_view detail) const {
        const std::string where = own.empty()
                                      ? fmt::format("runtime \"{}\", job \"{}\", container \"{}\": {}",
                                                    base::one_line(review->job.spec.runtime.name, shown_bytes_max), job,
                                                    base::one_line(container, shown_bytes_max), member)
                                      : std::string(own);
        out->warn(fmt::format("{}: no Pod can be made: {}", where, detail));
    }
    // The path within spec.trainer, where that names the resource.
    [[nodiscard]] std::string own_path(std::string_view list, std::string_view resource) const {
        if (section == nullptr) return {};
        const ref given = section->resources_per_node;
        if (!given.get("limits").contains(resource) && !given.get("requests").contains(resource)) return {};
        return fmt::format("spec.trainer.resourcesPerNode.{}[{}]", list, resource);
    }
};

// Parts of a device cannot be had by any job: the reference takes them, and no Pod ever comes.
void check_whole(const place& at, std::string_view list, ref amounts) {
    for (const auto& m : amounts.members()) {
        if (at.out->full()) return;
        const auto amount = api::quantity::parse(m.value);
        if (!amount || !is_extended(m.key()) || is_whole(*amount)) continue;
        const std::string own = at.own_path(list, m.key());
        if (!own.empty())
            at.out->invalid(own, m.value, "must be an integer");
        else
            at.warn({}, fmt::format("resources.{}[{}]", list, m.key()), "must be an integer");
    }
}

void check_resources(const place& at, ref resources) {
    const ref limits = resources.get("limits");
    const ref requests = resources.get("requests");
    check_whole(at, "limits", limits);
    check_whole(at, "requests", requests);
    for (const auto& m : requests.members()) {
        if (at.out->full()) return;
        const ref given = limits.get(m.key());
        const auto amount = api::quantity::parse(m.value);
        if (!amount) continue;  // the definition refuses it
        if (!given && !may_differ(m.key())) {
            at.warn(at.own_path("limits", m.key()), fmt::format("resources.limits[{}]", m.key()),
                    fmt::format("a limit must be set where {} is requested", m.key()));
        }
        const auto limit = api::quantity::parse(given);
        if (!given || !limit || (may_differ(m.key()) ? *amount <= *limit : *amount == *limit)) continue;
        const std::string_view how = may_differ(m.key()) ? "must be less than or equal to" : "must be equal to";
        at.warn(at.own_path("requests", m.key()), fmt::format("resources.requests[{}]", m.key()),
                fmt::format("the request {} the {} limit of {}", how, m.key(), limit->to_string()));
    }
}

void check_containers(place at, ref containers, bool trains) {
    for (std::size_t n = 0; n < containers.size() && !at.out->full(); ++n) {
        const ref c = containers.at(n);
        at.container = c.get("name").as_string();
        const bool node = trains && at.container == names::node;
        at.section = node && at.review->job.spec.trainer ? &*at.review->job.spec.trainer : nullptr;
        const bool given = at.section != nullptr && at.section->image;
        const std::string_view image = given ? *at.section->image : c.get("image").as_string();
        if (image.empty()) at.warn(node ? "spec.trainer.image" : "", "image", "an image is required");
        check_resources(at, c.get("resources"));
    }
}

std::size_t digits(std::int64_t number) { return std::to_string(number).size(); }

// Of the last Pod of an indexed Job: its name without the random end is its host name.
void check_host_name(const runtime::info& i, const runtime::pod_set& set, const place& at) {
    const api::train_job& job = at.review->job;
    const bool mpi = i.ml() != nullptr && i.ml()->mpi;
    const bool counted = &set == i.trainer() && !mpi && job.spec.trainer && job.spec.trainer->num_nodes;
    const std::int32_t count = counted ? *job.spec.trainer->num_nodes : set.count;
    if (job.meta.name.empty() || count <= 0 || set.replicas <= 0) return;
    const std::size_t bytes = job.meta.name.size() + set.name.size() + digits(set.replicas - 1) + digits(count - 1) + 3;
    if (bytes <= host_name_bytes_max) return;
    at.out->warn(
        fmt::format("metadata.name: no Pod can be made: their host names {}-{}-{}-{} would be {} characters too long",
                    job.meta.name, set.name, set.replicas - 1, count - 1, bytes - host_name_bytes_max));
}

bool templates_change(const runtime::review& r) {
    return r.creating() || r.changed("trainer") || r.changed("runtimePatches") || r.changed("podTemplateOverrides") ||
           r.changed("runtimeRef");
}

}  // namespace

void check_pod_templates(const runtime::info& i, const runtime::review& r, runtime::verdict& out) {
    if (!r.added_rules(templates_change(r)) || !out.accepted()) return;
    for (const runtime::pod_set& set : i.pod_sets()) {
        if (out.full()) return;
        const place at{.job = set.name, .review = &r, .out = &out};
        const ref pod = i.pod_spec_view(set);
        const bool trains = set.ancestor == names::ancestor_trainer;
        check_containers(at, pod.get("initContainers"), trains);
        check_containers(at, pod.get("containers"), trains);
        check_host_name(i, set, at);
    }
}

void warn_of_ignored_trainer(const runtime::info& i, const runtime::review& r, runtime::verdict& out) {
    if (!r.job.spec.trainer || !r.added_rules(templates_change(r))) return;
    const runtime::pod_set* const trainer = i.trainer();
    if (trainer == nullptr) {
        return out.warn(
            fmt::format("spec.trainer is ignored: no job of the runtime has the label {}={} or is called {}",
                        names::ancestor_label, names::ancestor_trainer, names::node));
    }
    if (!i.container_view(*trainer, names::node)) {
        out.warn(
            fmt::format("spec.trainer changes nothing but the number of Pods: job \"{}\" of the runtime has no "
                        "container \"{}\"",
                        trainer->name, names::node));
    }
}

}  // namespace cotrain::plugins
