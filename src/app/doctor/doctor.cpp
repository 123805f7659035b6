#include "app/doctor/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "api/names.hpp"
#include "api/workload.hpp"
#include "app/cluster_command.hpp"
#include "app/config/flags.hpp"
#include "certs/certificate_set.hpp"
#include "doc/json.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view our_definitions = "kubectl apply --server-side -f deploy/crds";
constexpr kube::resource definition{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                    "CustomResourceDefinition", false};
constexpr kube::resource mutating{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                  "MutatingWebhookConfiguration", false};
constexpr kube::resource validating{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                    "ValidatingWebhookConfiguration", false};
constexpr kube::resource secret{"", "v1", "secrets", "Secret"};
constexpr kube::resource lease{"coordination.k8s.io", "v1", "leases", "Lease"};
constexpr kube::resource deployment{"apps", "v1", "deployments", "Deployment"};
constexpr kube::resource slice{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"};

constexpr kube::resource of(const api::resource_type& type) {
    return {type.group, type.version, type.plural, type.kind, type.namespaced};
}
constexpr kube::resource coscheduling = of(api::names::coscheduling_pod_group);
constexpr kube::resource volcano = of(api::names::volcano_pod_group);

constexpr std::array wanted_definitions{
    wanted_definition{of(api::names::train_job), true, our_definitions},
    wanted_definition{of(api::names::training_runtime), true, our_definitions},
    wanted_definition{of(api::names::cluster_training_runtime), true, our_definitions},
    wanted_definition{of(api::names::job_set), true, "install JobSet: https://jobset.sigs.k8s.io/docs/installation/"},
    wanted_definition{coscheduling, false, {}},
    wanted_definition{volcano, false, {}},
};

constexpr std::string_view default_namespace = "kubeflow-system";

kube::call who_are_we() {
    kube::call out;
    out.attempt = "ask who we are";
    out.http.method = "POST";
    out.http.path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    out.http.headers = {{"accept", "application/json"}, {"content-type", "application/json"}};
    out.http.body = R"({"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"})";
    out.http.idempotent = true;
    return out;
}

bool forbidden(const base::error& why) { return why.http_status == 403 || why.http_status == 401; }

constexpr std::string_view help =
    "usage: cotrain doctor [options]\n\n"
    "Looks at a cluster and says what is wrong and what to do: connection, versions, CRDs, webhooks and their\n"
    "certificate, rights, Lease, gang schedulers, what an old controller left. Changes nothing.\n\n"
    "  --kubeconfig FILE       instead of KUBECONFIG, the Pod's account or ~/.kube/config\n"
    "  --context NAME          of the kubeconfig\n"
    "  --namespace NAME, -n    where the operator runs (default: where the webhooks' Service is, else "
    "kubeflow-system)\n"
    "  --service-account NAME  whose rights are looked at, and the Deployment's name\n"
    "                          (default: as the webhooks' Service, else kubeflow-trainer-controller-manager)\n"
    "  --config FILE           the operator's, where its Secret, Lease or rights are not those of the start\n"
    "  -o text|json            how to say it\n\n"
    "Exit codes: 0 no problem, 1 problems, 2 used wrongly.\n";

struct doctor_words_read {
    doctor_options out{};
    std::string format = "text";
    operator_flags flags{};
};

std::vector<option> table_of(doctor_words_read& to) {
    doctor_options& o = to.out;
    std::vector<option> out{text_option("--kubeconfig", o.kubeconfig),
                            text_option("--context", o.context),
                            text_option("--namespace", o.ns),
                            text_option("-n", o.ns),
                            text_option("--service-account", o.account),
                            text_option("--config", to.flags.config_file),
                            text_option("-o", to.format),
                            text_option("--output", to.format)};
    for (option& each : out)
        if (each.name == "-o" || each.name == "--output") each.choices = "text json";
    return out;
}

base::result<doctor_options> read_doctor_options(arguments words) {
    doctor_words_read given;
    doctor_options& o = given.out;
    const std::string& output = given.format;
    const operator_flags& flags = given.flags;
    if (auto read = read_options(words, table_of(given)); !read) return base::fail(std::move(read.error()));
    if (output != "text" && output != "json")
        return base::fail(base::errc::invalid, "-o text or -o json, not '" + output + "'");
    o.json = output == "json";
    if (flags.config_file.empty()) return o;
    const auto config = load_configuration(flags);
    if (!config) return base::fail(base::errc::invalid, config.error().message);
    o.own = own_objects_of(*config);
    return o;
}

int print(const doctor_options& o, const findings& all) {
    std::fputs((o.json ? to_json(all) : to_text(all)).c_str(), stdout);
    return exit_code(all);
}

// Nothing could be asked.
int unreachable(const doctor_options& o, const base::error& why) {
    return print(o, {{.how = verdict::problem,
                      .area = "connection",
                      .what = why.message,
                      .remedy = "name a kubeconfig (--kubeconfig FILE, --context NAME), or run in a Pod"}});
}

awaitable<void> examine(kube::client* api, const kube::cluster_config* config, const doctor_options* options,
                        findings* found) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    examination look(*api, config->server, *options, now);
    *found = co_await look.run();
}

}  // namespace

std::string examination::own_namespace() const {
    if (!options_.ns.empty()) return options_.ns;
    for (const webhook_target& each : targets_)
        if (!each.ns.empty()) return each.ns;
    return std::string(default_namespace);
}

std::string examination::own_account() const {
    if (!options_.account.empty()) return options_.account;
    for (const webhook_target& each : targets_)
        if (!each.service.empty()) return each.service;
    return certificate_config{}.service;
}

finding examination::unread(std::string_view area, const base::error& why) {
    if (forbidden(why)) return {.how = verdict::unknown, .area = area, .what = why.message};
    return {.how = verdict::problem,
            .area = area,
            .what = why.message,
            .remedy = "run it again; if it stays, the API server or the way to it is in trouble"};
}

void examination::cannot(std::string_view area, const base::error& why) { add(unread(area, why)); }

awaitable<base::result<std::optional<std::string>>> examination::read(kube::resource kind, std::string ns,
                                                                      std::string name) {
    auto got = co_await api_.get(kind, {.ns = ns, .name = name});
    if (got) co_return std::optional(std::move(got->body));
    if (got.error().http_status == 404) co_return std::nullopt;
    co_return base::fail(std::move(got.error()));
}

awaitable<base::result<std::string>> examination::read_list(kube::resource kind, std::string ns, std::string fields,
                                                            std::string labels) {
    auto got = co_await api_.list(kind, ns, {.label_selector = labels, .field_selector = fields});
    if (!got) co_return base::fail(std::move(got.error()));
    co_return std::move(got->body);
}

awaitable<bool> examination::look_at_connection() {
    const auto version = co_await api_.version();
    if (!version) {
        add({.how = verdict::problem,
             .area = "connection",
             .what = version.error().message,
             .remedy = "check the kubeconfig (--kubeconfig, --context), the network and the server's certificate"});
        co_return false;
    }
    if (const auto answer = co_await api_.perform(who_are_we())) {
        doc::arena memory;
        if (const auto document = doc::parse_json(memory, answer->body))
            who_ = document->get({"status", "userInfo", "username"}).as_string();
    }
    version_ = *version;
    add(judge_version(version_, server_, who_.empty() ? "somebody" : who_));
    co_return true;
}

awaitable<void> examination::look_at_definitions() {
    std::vector<wanted_definition> missing;
    for (const wanted_definition& each : wanted_definitions) {
        const auto served = co_await api_.exists(each.of);
        const bool there = served.value_or(false);
        if (each.of.group == coscheduling.group) coscheduling_ = there;
        if (each.of.group == volcano.group) volcano_ = there;
        const auto body = co_await read(definition, {}, fmt::format("{}.{}", each.of.plural, each.of.group));
        const bool defined = body && *body;
        if (each.needed && served && !there && !defined) {
            missing.push_back(each);
        } else if (defined || (body && !there)) {
            add(judge_definition(each, *body));
        } else if (served) {
            add(judge_served(each, there));
        } else {
            cannot("definitions", served.error());
        }
    }
    std::ranges::move(judge_missing(missing), std::back_inserter(found_));
}

awaitable<void> examination::look_at_configuration(kube::resource kind, std::string name,
                                                   std::vector<std::string>* missing) {
    const auto body = co_await read(kind, {}, name);
    if (!body) {
        cannot("webhooks", body.error());
    } else if (!*body) {
        missing->push_back(name);
    } else {
        for (webhook_target& each : read_webhooks(name, **body, found_)) targets_.push_back(std::move(each));
    }
}

awaitable<void> examination::look_at_certificate() {
    const auto with_service =
        std::ranges::find_if(targets_, [](const webhook_target& t) { return !t.service.empty(); });
    const auto body = co_await read(secret, own_namespace(), options_.own.secret);
    if (!body) {
        cannot("webhooks", body.error());
    } else if (!*body) {
        if (options_.own.managed_certificates)
            add({.how = verdict::problem,
                 .area = "webhooks",
                 .what = fmt::format("the Secret {}/{} is not there", own_namespace(), options_.own.secret),
                 .remedy = "start the operator, which makes it; or say where it is: --namespace, --config",
                 .from = roots::no_operator});
    } else if (const auto set = certs::read_secret(**body)) {
        judge_certificate(targets_, set->tls_crt, now_, found_);
    }
    if (with_service == targets_.end()) co_return;
    const auto slices =
        co_await read_list(slice, with_service->ns, {}, "kubernetes.io/service-name=" + with_service->service);
    if (slices) {
        add(judge_endpoints(*with_service, *slices));
    } else {
        cannot("webhooks", slices.error());
    }
}

awaitable<void> examination::look_at_webhooks() {
    std::vector<std::string> missing;
    co_await look_at_configuration(mutating, "defaulter.trainer.kubeflow.org", &missing);
    co_await look_at_configuration(validating, "validator.trainer.kubeflow.org", &missing);
    if (!missing.empty()) add(missing_webhooks(missing));
    if (!targets_.empty()) co_await look_at_certificate();
}

awaitable<base::result<bool>> examination::allowed(kube::access_question question, bool about_account) {
    if (!about_account) {
        const auto answer = co_await api_.may_we(question);
        if (!answer) co_return base::fail(answer.error());
        co_return answer->allowed;
    }
    const auto answer = co_await api_.perform(ask_about(question, own_namespace(), own_account()));
    if (!answer) co_return base::fail(answer.error());
    const auto access = kube::read_access_review(answer->body);
    if (!access) co_return base::fail(access.error());
    co_return access->allowed;
}

awaitable<void> examination::look_at_rights() {
    const std::string ns = own_namespace();
    const std::string account = user_of(ns, own_account());
    bool about_account = who_ != account;
    std::string whose = account;
    std::size_t asked = 0;
    std::size_t lacking = 0;
    findings found;
    for (const right& each : operator_rights(options_.own)) {
        if (each.group == coscheduling.group && !coscheduling_) continue;
        if (each.group == volcano.group && !volcano_) continue;
        std::vector<std::string_view> missing;
        for (const kube::access_question& question : questions_of(each, ns)) {
            auto answer = co_await allowed(question, about_account);
            if (!answer && about_account && forbidden(answer.error())) {
                about_account = false;
                whose = who_.empty() ? "this identity" : who_;
                add({.how = verdict::unknown,
                     .area = "rights",
                     .what = fmt::format("{} may not ask what {} may do: its own rights are shown", whose, account)});
                answer = co_await allowed(question, false);
            }
            if (!answer) co_return cannot("rights", answer.error());
            ++asked;
            if (!*answer) missing.push_back(question.verb);
        }
        lacking += missing.size();
        if (!missing.empty()) found.push_back(missing_right(each, missing, whose));
    }
    if (found.empty()) add({.area = "rights", .what = fmt::format("{} has all {} rights", whose, asked)});
    std::ranges::move(judge_rights(std::move(found), lacking, asked, whose), std::back_inserter(found_));
}

awaitable<finding> examination::look_at_lease() {
    const own_objects& own = options_.own;
    if (!own.election.value_or(true)) co_return finding{.area = "lease", .what = "leader election is off"};
    const auto body = co_await read(lease, own.lease_ns.empty() ? own_namespace() : own.lease_ns, own.lease);
    if (!body) co_return unread("lease", body.error());
    co_return judge_lease(*body, own.lease, own.election.has_value(), now_);
}

awaitable<void> examination::look_at_operator() {
    const auto list = co_await read_list(deployment, {}, fmt::format("metadata.name={}", own_account()), {});
    auto deployments = list ? judge_deployments(*list, own_account()) : findings{unread("deployment", list.error())};
    std::ranges::move(judge_operator(std::move(deployments), co_await look_at_lease()), std::back_inserter(found_));
}

awaitable<void> examination::look_at_job_set_controller() {
    const auto leases = co_await read_list(lease, {}, fmt::format("metadata.name={}", job_set_lease), {});
    if (!leases) co_return cannot("jobset", leases.error());
    const auto deployments = co_await read_list(deployment, {}, {}, std::string(job_set_deployments));
    if (!deployments) co_return cannot("jobset", deployments.error());
    add(judge_job_set_controller(*leases, *deployments, now_));
    if (!options_.own.elastic) co_return;
    const auto jobs = co_await read(definition, {}, "trainjobs.trainer.kubeflow.org");
    if (!jobs) co_return cannot("elastic", jobs.error());
    const auto configurations =
        co_await read_list(of(api::names::config_map), {}, {}, std::string(job_set_deployments));
    if (!configurations) co_return cannot("elastic", configurations.error());
    if (*jobs) std::ranges::move(judge_elastic(**jobs, *configurations), std::back_inserter(found_));
}

awaitable<void> examination::look_at_runtimes() {
    runtime_needs needs;
    for (const kube::resource& kind : {of(api::names::training_runtime), of(api::names::cluster_training_runtime)}) {
        const auto list = co_await read_list(kind, {}, {}, {});
        if (list) {
            read_runtimes(*list, needs);
        } else if (list.error().http_status != 404) {
            cannot("gang", list.error());
        }
    }
    std::ranges::move(judge_gang(needs, coscheduling_, volcano_), std::back_inserter(found_));
    std::ranges::move(judge_leftovers(needs), std::back_inserter(found_));
}

awaitable<void> examination::look_at_workloads() {
    std::string served;
    for (const api::resource_type& each : {api::names::pod_group_v1alpha2, api::names::pod_group}) {
        const auto there = co_await api_.exists(of(each));
        if (!there) co_return cannot("gang", there.error());
        if (*there) served = each.api_version;
    }
    add(judge_workloads(served, version_));
}

awaitable<findings> examination::run() {
    if (co_await look_at_connection()) {
        co_await look_at_definitions();
        co_await look_at_job_set_controller();
        co_await look_at_webhooks();
        co_await look_at_operator();
        co_await look_at_rights();
        co_await look_at_runtimes();
        if (options_.own.workload_aware) co_await look_at_workloads();
    }
    co_return fold(std::move(found_));
}

std::vector<option_word> doctor_words() {
    doctor_words_read none;
    return words_of(table_of(none));
}

int run_doctor(arguments words) {
    if (asks_for_help(words)) {
        std::fputs(help.data(), stdout);
        return 0;
    }
    const auto options = read_doctor_options(words);
    if (!options) return used_wrongly("doctor: " + options.error().message);
    findings found;
    const auto done = with_cluster(
        options->kubeconfig, options->context,
        [&](kube::client* api, const kube::cluster_config* config) { return examine(api, config, &*options, &found); });
    return done ? print(*options, found) : unreachable(*options, done.error());
}

}  // namespace cotrain::app
