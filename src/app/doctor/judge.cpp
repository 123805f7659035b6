#include "app/doctor/judge.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <span>

#include "api/lease.hpp"
#include "api/names.hpp"
#include "base/encoding.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "doc/json.hpp"
#include "net/tls/errors.hpp"
#include "net/tls/pem.hpp"

namespace cotrain::app {

namespace tls = net::tls;

namespace {

constexpr std::size_t line_bytes_max = 1000;  // of a text that came from the cluster

std::string_view name_of(verdict v) {
    switch (v) {
        case verdict::fine: return "fine";
        case verdict::unknown: return "unknown";
        case verdict::advice: return "advice";
        case verdict::problem: return "problem";
    }
    return "";
}

std::size_t count(const findings& all, verdict v) {
    return static_cast<std::size_t>(std::ranges::count(all, v, &finding::how));
}

constexpr std::string_view definitions = "definitions";
constexpr std::string_view our_definitions = "kubectl apply --server-side --force-conflicts -f deploy/crds";
constexpr std::size_t held_max = 5;  // named of more runtimes

// Labels that the chart's Pods and those of the overlays have in common.
constexpr std::string_view look_at_pods =
    "look whether the operator runs, and into its log: kubectl get pods -A -l "
    "app.kubernetes.io/part-of=kubeflow,app.kubernetes.io/component=manager";

std::string full_name(const kube::resource& of) { return fmt::format("{}.{}", of.plural, of.group); }

finding missing(const wanted_definition& wanted) {
    if (wanted.needed) return judge_missing({wanted}).front();
    return {.area = definitions, .what = full_name(wanted.of) + " is not there and not needed"};
}

bool condition_is(doc::ref document, std::string_view type, std::string_view status) {
    return document.get({"status", "conditions"}).find_by("type", type).get("status").as_string() == status;
}

// The properties of a TrainJob's spec tell the dialects apart.
finding judge_dialect(const std::string& name, doc::ref version) {
    const doc::ref spec = version.get({"schema", "openAPIV3Schema", "properties", "spec", "properties"});
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

constexpr std::string_view area = "webhooks";
constexpr std::string_view ours = "trainer.kubeflow.org";
constexpr std::string_view restart = "restart the operator and look into its log for \"certificate\"; docs/operate.md";

constexpr std::string_view bring =
    "kubectl apply --server-side -k deploy/overlays/manager, or upgrade the Helm release";

finding problem(std::string what, std::string remedy) {
    return {.how = verdict::problem, .area = area, .what = std::move(what), .remedy = std::move(remedy)};
}

bool signed_by_any(X509& certificate, const std::vector<tls::certificate_ptr>& authorities) {
    const bool found = std::ranges::any_of(authorities, [&certificate](const tls::certificate_ptr& a) {
        return X509_verify(&certificate, X509_get0_pubkey(a.get())) == 1;
    });
    ERR_clear_error();
    return found;
}

// Up the chain as it is sent, until somebody whom the webhook trusts.
bool passes(const std::vector<tls::certificate_ptr>& chain, const std::vector<tls::certificate_ptr>& trusted) {
    for (std::size_t i = 0; i < chain.size(); ++i) {
        if (signed_by_any(*chain[i], trusted)) return true;
        if (i + 1 == chain.size() || X509_verify(chain[i].get(), X509_get0_pubkey(chain[i + 1].get())) != 1) break;
    }
    ERR_clear_error();
    return false;
}

bool ends_before(const X509& certificate, std::chrono::sys_seconds when) {
    std::time_t at = std::chrono::system_clock::to_time_t(when);
    return X509_cmp_time(X509_get0_notAfter(&certificate), &at) < 0;
}

void judge_target(const webhook_target& target, const std::vector<tls::certificate_ptr>& chain, findings& found) {
    if (target.ca_pem.empty()) return;  // said already
    const auto trusted = tls::read_certificates(target.ca_pem, target.webhook + " caBundle");
    if (!trusted) {
        found.push_back(problem(trusted.error().message, std::string(restart)));
    } else if (!passes(chain, *trusted)) {
        found.push_back(problem(target.webhook + " trusts another authority than the one that signed what is served: "
                                                 "the API server refuses to call it",
                                std::string(restart)));
    }
    const std::string host = fmt::format("{}.{}.svc", target.service, target.ns);
    if (!target.service.empty() && X509_check_host(chain.front().get(), host.data(), host.size(), 0, nullptr) != 1)
        found.push_back(
            problem(fmt::format("the certificate is not for {}, but for {}", host, tls::names_of(*chain.front())),
                    std::string(restart)));
}

}  // namespace

std::string to_text(const findings& all) {
    std::string out;
    for (const finding& each : all) {
        out += fmt::format("{:8} {:12} {}\n", name_of(each.how), each.area, base::one_line(each.what, line_bytes_max));
        if (!each.remedy.empty()) out += fmt::format("{:21} do: {}\n", "", base::one_line(each.remedy, line_bytes_max));
    }
    out += fmt::format("{} problems, {} pieces of advice, {} things that could not be looked at\n",
                       count(all, verdict::problem), count(all, verdict::advice), count(all, verdict::unknown));
    return out;
}

std::string to_json(const findings& all) {
    std::string out = fmt::format(R"({{"problems": {}, "unknown": {}, "findings": [)", count(all, verdict::problem),
                                  count(all, verdict::unknown));
    for (const finding& each : all) {
        out += out.back() == '[' ? "\n" : ",\n";
        out += fmt::format(R"(  {{"verdict": "{}", "area": "{}", "what": )", name_of(each.how), each.area);
        base::append_json_string(out, base::one_line(each.what, line_bytes_max));
        out += R"(, "remedy": )";
        base::append_json_string(out, base::one_line(each.remedy, line_bytes_max));
        out += '}';
    }
    out += "\n]}\n";
    return out;
}

int exit_code(const findings& all) { return count(all, verdict::problem) == 0 ? 0 : 1; }

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

findings judge_missing(const std::vector<wanted_definition>& missing) {
    findings out;
    for (auto rest = std::span(missing); !rest.empty();) {
        const std::string_view install = rest.front().install;
        std::vector<std::string> names;
        for (; !rest.empty() && rest.front().install == install; rest = rest.subspan(1))
            names.push_back(full_name(rest.front().of));
        const bool of_trainer = missing[missing.size() - rest.size() - 1].of.group == api::names::trainer_group;
        out.push_back({.how = verdict::problem,
                       .area = definitions,
                       .what = joined(names) + (names.size() == 1 ? " is not there" : " are not there"),
                       .remedy = std::string(install),
                       .root = of_trainer ? roots::not_installed : roots::no_job_set});
    }
    return out;
}

finding judge_definition(const wanted_definition& wanted, const std::optional<std::string>& body) {
    if (!body) return missing(wanted);
    doc::arena memory;
    const auto document = doc::parse_json(memory, *body);
    const std::string name = full_name(wanted.of);
    if (!document)
        return {.how = verdict::unknown, .area = definitions, .what = name + ": " + document.error().message};
    if (!condition_is(*document, "Established", "True"))
        return {.how = verdict::problem,
                .area = definitions,
                .what = name + " is not established",
                .remedy = "kubectl describe crd " + name};
    const doc::ref version = document->get({"spec", "versions"}).find_by("name", wanted.of.version);
    if (!version.get("served").as_bool(false))
        return {.how = verdict::problem,
                .area = definitions,
                .what = fmt::format("{} does not serve {}", name, wanted.of.version),
                .remedy = std::string(wanted.install)};
    for (const doc::ref stored : document->get({"status", "storedVersions"}).items()) {
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
    finding out{.area = "lease", .what = {}, .root = roots::no_operator};
    if (!body) {
        out.how = wanted ? verdict::problem : verdict::advice;
        out.what =
            fmt::format("there is no Lease {}: nobody leads{}", name, wanted ? "" : ", unless leader election is off");
        out.remedy = look_at_pods;
        return out;
    }
    doc::arena memory;
    const auto document = doc::parse_json(memory, *body);
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
        if (fresh) out.root = {};
        out.what = fresh ? fmt::format("{} leads", lease->holder)
                         : fmt::format("nobody leads: {} renewed last {} ago", lease->holder, seconds_text(age));
    }
    if (out.how == verdict::problem) out.remedy = look_at_pods;
    return out;
}

void read_runtimes(std::string_view list, runtime_needs& needs) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, list);
    if (!document) return;
    for (const doc::ref each : document->get("items").items()) {
        const std::string_view ns = each.get({"metadata", "namespace"}).as_string();
        const std::string name =
            fmt::format("{}{}{}", ns, ns.empty() ? "" : "/", each.get({"metadata", "name"}).as_string());
        const doc::ref gang = each.get({"spec", "podGroupPolicy"});
        if (needs.coscheduling.empty() && gang.get("coscheduling").is_object()) needs.coscheduling = name;
        if (needs.volcano.empty() && gang.get("volcano").is_object()) needs.volcano = name;
        const auto finalizers = each.get({"metadata", "finalizers"}).items();
        if (std::ranges::any_of(finalizers,
                                [](doc::ref f) { return f.as_string() == api::names::resource_in_use_finalizer; })) {
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
        "install the scheduler-plugins with their PodGroup CRD: https://scheduler-plugins.sigs.k8s.io");
    add("volcano", needs.volcano, volcano_there, "install Volcano: https://volcano.sh");
    return out;
}

finding judge_workloads(std::string_view served, const kube::server_version& server) {
    constexpr unsigned first_minor = 36;
    if (!served.empty())
        return {.area = "gang", .what = fmt::format("Workloads and PodGroups are there, in {}", served)};
    const bool old = server.major == 1 && server.minor < first_minor;
    return {
        .how = verdict::problem,
        .area = "gang",
        .what = old ? fmt::format("Kubernetes {} has no Workloads and PodGroups, which runtimes with spec.scheduling "
                                  "need",
                                  server.git_version)
                    : std::string("the API server has no Workloads and PodGroups of scheduling.k8s.io, which "
                                  "runtimes with spec.scheduling need"),
        .remedy = old ? "upgrade the cluster to Kubernetes 1.36 or later, or close feature gate "
                        "TrainJobWorkloadAwareScheduling"
                      : "switch on feature gate GenericWorkload of kube-apiserver, kube-controller-manager and "
                        "kube-scheduler, and the API with --runtime-config=scheduling.k8s.io/v1beta1=true (1.36: "
                        "v1alpha2, and gate GangScheduling)"};
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
    doc::arena memory;
    const auto document = doc::parse_json(memory, list);
    if (!document) return {{.how = verdict::unknown, .area = "deployment", .what = document.error().message}};
    int current = 0;
    for (const doc::ref each : document->get("items").items()) {
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
                               "is to stay: cotrain hand-back",
                           .root = roots::no_operator});
            continue;
        }
        ++current;
        out.push_back(
            {.how = ready > 0 || wanted == 0 ? verdict::fine : verdict::problem,
             .area = "deployment",
             .what = fmt::format("{} runs {}: {} of {} ready", which, image, ready, wanted),
             .remedy = ready > 0 || wanted == 0 ? "" : "kubectl describe deployment and the log of its Pods say why",
             .root = ready > 0 ? std::string_view{} : roots::no_operator});
    }
    if (current == 0 && out.empty())
        out.push_back({.how = verdict::advice,
                       .area = "deployment",
                       .what = fmt::format("no Deployment {}: the operator runs elsewhere, or not at all", name),
                       .remedy = "docs/install.md; where it has another name: --service-account",
                       .root = roots::no_operator,
                       .from = roots::not_installed});
    return out;
}

finding missing_webhooks(const std::vector<std::string>& names) {
    finding out = problem(fmt::format("{} {} not there: TrainJobs are neither defaulted nor checked", joined(names),
                                      names.size() == 1 ? "is" : "are"),
                          std::string(bring));
    out.from = roots::not_installed;
    return out;
}

std::vector<webhook_target> read_webhooks(std::string_view name, std::string_view body, findings& found) {
    std::vector<webhook_target> out;
    std::vector<std::string> without_ca;
    doc::arena memory;
    const auto document = doc::parse_json(memory, body);
    if (!document) {
        found.push_back({.how = verdict::unknown, .area = area, .what = document.error().message});
        return out;
    }
    for (const doc::ref each : document->get("webhooks").items()) {
        if (!each.get("name").as_string().ends_with(ours)) continue;
        webhook_target target{.configuration = std::string(name), .webhook = std::string(each.get("name").as_string())};
        const doc::ref client = each.get("clientConfig");
        target.ns = client.get({"service", "namespace"}).as_string();
        target.service = client.get({"service", "name"}).as_string();
        target.ca_pem = base::decode_base64(client.get("caBundle").as_string()).value_or(std::string());
        if (target.ca_pem.empty()) without_ca.push_back(target.webhook);
        out.push_back(std::move(target));
    }
    if (!without_ca.empty()) {
        found.push_back(
            problem(joined(without_ca) + (without_ca.size() == 1 ? " has" : " have") +
                        " no caBundle: the API server cannot call " + (without_ca.size() == 1 ? "it" : "them"),
                    "start the operator, which writes it (certManagement.enable), or let cert-manager inject it"));
        found.back().from = roots::no_operator;
    }
    if (out.empty()) found.push_back(problem(fmt::format("{} has no webhook of {}", name, ours), std::string(bring)));
    return out;
}

void judge_certificate(const std::vector<webhook_target>& targets, std::string_view certificate_pem,
                       std::chrono::sys_seconds now, findings& found) {
    const auto chain = tls::read_certificates(certificate_pem, "tls.crt of the Secret");
    if (!chain) {
        found.push_back(problem(chain.error().message, std::string(restart)));
        found.back().from = roots::no_operator;  // which fills in the Secret
        return;
    }
    const X509& leaf = *chain->front();
    const std::string end = tls::to_text(X509_get0_notAfter(&leaf));
    if (ends_before(leaf, now))
        found.push_back(problem("the certificate expired on " + end, std::string(restart)));
    else if (ends_before(leaf, now + certificate_warning_days))
        found.push_back({.how = verdict::advice,
                         .area = area,
                         .what = fmt::format("the certificate ends on {} and was not renewed", end),
                         .remedy = std::string(restart)});
    const std::size_t before = found.size();
    for (const webhook_target& each : targets) judge_target(each, *chain, found);
    if (found.size() == before)
        found.push_back(
            {.area = area,
             .what = fmt::format("the certificate is valid until {} and trusted by {} webhooks", end, targets.size())});
}

finding judge_endpoints(const webhook_target& target, std::string_view slices) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, slices);
    if (!document) return {.how = verdict::unknown, .area = area, .what = document.error().message};
    std::size_t ready = 0;
    for (const doc::ref slice : document->get("items").items())
        for (const doc::ref endpoint : slice.get("endpoints").items())
            ready += endpoint.get({"conditions", "ready"}).as_bool(true) ? endpoint.get("addresses").size() : 0;
    const std::string service = fmt::format("Service {}/{}", target.ns, target.service);
    if (ready > 0) return {.area = area, .what = fmt::format("{} has {} ready endpoints", service, ready)};
    finding none = problem(service + " has no ready endpoint: nobody answers, and creating TrainJobs is refused",
                           "look whether the operator's Pods are ready: kubectl get pods -n " + target.ns);
    none.from = roots::no_operator;
    return none;
}

}  // namespace cotrain::app
