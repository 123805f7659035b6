// Definitions, versions, the Lease, runtimes and Deployments: what is there, whose it is, and what to do.
#include "app/doctor_judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/json.hpp"
#include "api/lease.hpp"
#include "api/names.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view definitions = "definitions";
constexpr std::string_view our_definitions = "kubectl apply --server-side --force-conflicts -f deploy/crds";
constexpr std::size_t held_max = 5;  // named of more runtimes

// Labels that the chart's Pods and those of the overlays have in common.
constexpr std::string_view look_at_pods =
    "look whether the operator runs, and into its log: kubectl get pods -A -l "
    "app.kubernetes.io/part-of=kubeflow,app.kubernetes.io/component=manager";

std::string full_name(const kube::resource& of) { return fmt::format("{}.{}", of.plural, of.group); }

finding missing(const wanted_definition& wanted) {
    const std::string what = fmt::format("{} is not there", full_name(wanted.of));
    if (!wanted.needed) return {.how = verdict::fine, .area = definitions, .what = what + " and not needed"};
    return {.how = verdict::problem, .area = definitions, .what = what, .remedy = std::string(wanted.install)};
}

bool condition_is(api::ref document, std::string_view type, std::string_view status) {
    return document.get({"status", "conditions"}).find_by("type", type).get("status").as_string() == status;
}

// The properties of a TrainJob's spec tell the dialects apart.
finding judge_dialect(const std::string& name, api::ref version) {
    const api::ref spec = version.get({"schema", "openAPIV3Schema", "properties", "spec", "properties"});
    const bool current = spec.contains("runtimePatches");
    const bool earlier = spec.contains("podTemplateOverrides");
    if (current && earlier) return {.area = definitions, .what = name + " is Cotrain's: both dialects are kept"};
    if (current)
        return {.how = verdict::advice,
                .area = definitions,
                .what = name + " is the Kubeflow Trainer's: podTemplateOverrides and numProcPerNode as text are lost",
                .remedy = std::string(our_definitions)};
    return {.how = verdict::problem,
            .area = definitions,
            .what = name + " is of an old Kubeflow Trainer: runtimePatches are lost",
            .remedy = std::string(our_definitions)};
}

std::string seconds_text(std::chrono::seconds t) {
    if (t < std::chrono::minutes(2)) return fmt::format("{} s", t.count());
    if (t < std::chrono::hours(2)) return fmt::format("{} min", t.count() / 60);
    return fmt::format("{} h", t.count() / 3600);
}

std::string joined(const std::vector<std::string>& names) {
    std::string out;
    for (std::size_t i = 0; i < names.size() && i < held_max; ++i) out += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > held_max) out += fmt::format(" and {} more", names.size() - held_max);
    return out;
}

}  // namespace

finding judge_version(const kube::server_version& version, std::string_view server, std::string_view who) {
    finding out{.area = "connection",
                .what = fmt::format("Kubernetes {} at {}, as {}", version.git_version, server, who)};
    if (version.major != 1 || version.minor < server_minor_min) {
        out.how = verdict::problem;
        out.remedy = fmt::format("upgrade the cluster: 1.{} is the oldest that is supported", server_minor_min);
    } else if (version.minor > server_minor_max) {
        out.how = verdict::advice;
        out.remedy = fmt::format("look for a newer Cotrain: this one was tested up to 1.{}", server_minor_max);
    }
    return out;
}

finding judge_definition(const wanted_definition& wanted, const std::optional<std::string>& body) {
    if (!body) return missing(wanted);
    api::arena memory;
    const auto document = api::parse_json(memory, *body);
    const std::string name = full_name(wanted.of);
    if (!document)
        return {.how = verdict::unknown, .area = definitions, .what = name + ": " + document.error().message};
    if (!condition_is(*document, "Established", "True"))
        return {.how = verdict::problem,
                .area = definitions,
                .what = name + " is not established",
                .remedy = "kubectl describe crd " + name};
    const api::ref version = document->get({"spec", "versions"}).find_by("name", wanted.of.version);
    if (!version.get("served").as_bool(false))
        return {.how = verdict::problem,
                .area = definitions,
                .what = fmt::format("{} does not serve {}", name, wanted.of.version),
                .remedy = std::string(wanted.install)};
    for (const api::ref stored : document->get({"status", "storedVersions"}).items()) {
        if (document->get({"spec", "versions"}).find_by("name", stored.as_string())) continue;
        return {
            .how = verdict::problem,
            .area = definitions,
            .what = fmt::format("{} says objects are stored as {}, which it does not have", name, stored.as_string()),
            .remedy = "migrate the stored objects, then take that version out of status.storedVersions"};
    }
    if (wanted.of.plural == api::names::train_job.plural) return judge_dialect(name, version);
    return {.area = definitions, .what = fmt::format("{}/{} is served", name, wanted.of.version)};
}

finding judge_served(const wanted_definition& wanted, bool served) {
    if (!served) return missing(wanted);
    return {.area = definitions, .what = fmt::format("{}/{} is served", full_name(wanted.of), wanted.of.version)};
}

finding judge_lease(const std::optional<std::string>& body, std::string_view name, bool wanted,
                    std::chrono::sys_seconds now) {
    finding out{.area = "lease", .what = {}};
    if (!body) {
        out.how = wanted ? verdict::problem : verdict::advice;
        out.what =
            fmt::format("there is no Lease {}: nobody leads{}", name, wanted ? "" : ", unless leader election is off");
        out.remedy = look_at_pods;
        return out;
    }
    api::arena memory;
    const auto document = api::parse_json(memory, *body);
    const auto lease =
        document ? api::decode_lease(*document) : base::result<api::lease>(std::unexpected(document.error()));
    if (!lease) return {.how = verdict::unknown, .area = "lease", .what = lease.error().message};
    if (lease->holder.empty() || !lease->renew_time) {
        out.how = verdict::problem;
        out.what = "the Lease is free: the last leader gave it back, and nobody took it";
    } else {
        const auto age = std::chrono::floor<std::chrono::seconds>(now - *lease->renew_time);
        const bool fresh = age <= std::chrono::seconds(lease->duration_seconds);
        out.how = fresh ? verdict::fine : verdict::problem;
        out.what = fresh ? fmt::format("{} leads", lease->holder)
                         : fmt::format("nobody leads: {} renewed last {} ago", lease->holder, seconds_text(age));
    }
    if (out.how == verdict::problem) out.remedy = look_at_pods;
    return out;
}

void read_runtimes(std::string_view list, runtime_needs& needs) {
    api::arena memory;
    const auto document = api::parse_json(memory, list);
    if (!document) return;
    for (const api::ref each : document->get("items").items()) {
        const std::string_view ns = each.get({"metadata", "namespace"}).as_string();
        const std::string name =
            fmt::format("{}{}{}", ns, ns.empty() ? "" : "/", each.get({"metadata", "name"}).as_string());
        const api::ref gang = each.get({"spec", "podGroupPolicy"});
        if (needs.coscheduling.empty() && gang.get("coscheduling").is_object()) needs.coscheduling = name;
        if (needs.volcano.empty() && gang.get("volcano").is_object()) needs.volcano = name;
        const auto finalizers = each.get({"metadata", "finalizers"}).items();
        if (std::ranges::any_of(finalizers,
                                [](api::ref f) { return f.as_string() == api::names::resource_in_use_finalizer; })) {
            needs.held.push_back(name);
        }
    }
}

findings judge_gang(const runtime_needs& needs, bool coscheduling_there, bool volcano_there) {
    findings out;
    const auto add = [&out](std::string_view what, const std::string& runtime, bool there, std::string_view install) {
        if (!runtime.empty() && !there)
            out.push_back({.how = verdict::problem,
                           .area = "gang",
                           .what = fmt::format("runtime {} asks for {}, which is not installed", runtime, what),
                           .remedy = std::string(install)});
        else
            out.push_back(
                {.area = "gang",
                 .what = fmt::format("{} {}", what,
                                     there ? "is installed" : "is not installed, and no runtime asks for it")});
    };
    add("coscheduling", needs.coscheduling, coscheduling_there,
        "install the scheduler-plugins with their PodGroup definition: https://scheduler-plugins.sigs.k8s.io");
    add("volcano", needs.volcano, volcano_there, "install Volcano: https://volcano.sh");
    return out;
}

findings judge_leftovers(const runtime_needs& needs) {
    if (needs.held.empty()) return {};
    return {{.how = verdict::advice,
             .area = "leftovers",
             .what = fmt::format("runtimes held by the finalizer {}: {}", api::names::resource_in_use_finalizer,
                                 joined(needs.held)),
             .remedy = "start the operator: it takes them off; without them the runtimes can be deleted again"}};
}

findings judge_deployments(std::string_view list, std::string_view name) {
    findings out;
    api::arena memory;
    const auto document = api::parse_json(memory, list);
    if (!document) return {{.how = verdict::unknown, .area = "deployment", .what = document.error().message}};
    int ours = 0;
    for (const api::ref each : document->get("items").items()) {
        const std::string which = fmt::format("{}/{}", each.get({"metadata", "namespace"}).as_string(),
                                              each.get({"metadata", "name"}).as_string());
        const std::string_view image =
            each.get({"spec", "template", "spec", "containers"}).at(0).get("image").as_string();
        const auto ready = each.get({"status", "readyReplicas"}).as_int(0);
        const auto wanted = each.get({"spec", "replicas"}).as_int(1);
        if (image.contains("trainer-controller-manager") && wanted > 0) {
            out.push_back({.how = verdict::problem,
                           .area = "leftovers",
                           .what = fmt::format("the old controller still runs: Deployment {} with {}", which, image),
                           .remedy =
                               "docs/migrate.md: put Cotrain's image into that Deployment, or scale it to 0; where it "
                               "is to stay: cotrain hand-back"});
            continue;
        }
        ++ours;
        out.push_back(
            {.how = ready > 0 || wanted == 0 ? verdict::fine : verdict::problem,
             .area = "deployment",
             .what = fmt::format("{} runs {}: {} of {} ready", which, image, ready, wanted),
             .remedy = ready > 0 || wanted == 0 ? "" : "kubectl describe deployment and the log of its Pods say why"});
    }
    if (ours == 0 && out.empty())
        out.push_back({.how = verdict::advice,
                       .area = "deployment",
                       .what = fmt::format("no Deployment {}: the operator runs elsewhere, or not at all", name),
                       .remedy = "docs/install.md; where it has another name: --service-account"});
    return out;
}

}  // namespace cotrain::app
