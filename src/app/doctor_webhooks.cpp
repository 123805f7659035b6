// Webhook configurations, the certificate they trust, and whether somebody answers them.
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>

#include "api/json.hpp"
#include "app/doctor_judge.hpp"
#include "kube/base64.hpp"
#include "net/tls/describe.hpp"
#include "net/tls/pem.hpp"

namespace cotrain::app {

namespace tls = net::tls;

namespace {

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

finding missing_webhooks(std::string_view name) {
    return problem(fmt::format("{} is not there: TrainJobs are neither defaulted nor checked", name),
                   std::string(bring));
}

std::vector<webhook_target> read_webhooks(std::string_view name, std::string_view body, findings& found) {
    std::vector<webhook_target> out;
    api::arena memory;
    const auto document = api::parse_json(memory, body);
    if (!document) {
        found.push_back({.how = verdict::unknown, .area = area, .what = document.error().message});
        return out;
    }
    for (const api::ref each : document->get("webhooks").items()) {
        if (!each.get("name").as_string().ends_with(ours)) continue;
        webhook_target target{.configuration = std::string(name), .webhook = std::string(each.get("name").as_string())};
        const api::ref client = each.get("clientConfig");
        target.ns = client.get({"service", "namespace"}).as_string();
        target.service = client.get({"service", "name"}).as_string();
        target.ca_pem = kube::decode_base64(client.get("caBundle").as_string()).value_or(std::string());
        if (target.ca_pem.empty())
            found.push_back(
                problem(target.webhook + " has no caBundle: the API server cannot call it",
                        "start the operator, which writes it (certManagement.enable), or let cert-manager inject it"));
        out.push_back(std::move(target));
    }
    if (out.empty()) found.push_back(problem(fmt::format("{} has no webhook of {}", name, ours), std::string(bring)));
    return out;
}

void judge_certificate(const std::vector<webhook_target>& targets, std::string_view certificate_pem,
                       std::chrono::sys_seconds now, findings& found) {
    const auto chain = tls::read_certificates(certificate_pem, "tls.crt of the Secret");
    if (!chain) {
        found.push_back(problem(chain.error().message, std::string(restart)));
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
    api::arena memory;
    const auto document = api::parse_json(memory, slices);
    if (!document) return {.how = verdict::unknown, .area = area, .what = document.error().message};
    std::size_t ready = 0;
    for (const api::ref slice : document->get("items").items())
        for (const api::ref endpoint : slice.get("endpoints").items())
            ready += endpoint.get({"conditions", "ready"}).as_bool(true) ? endpoint.get("addresses").size() : 0;
    const std::string service = fmt::format("Service {}/{}", target.ns, target.service);
    if (ready > 0) return {.area = area, .what = fmt::format("{} has {} ready endpoints", service, ready)};
    return problem(service + " has no ready endpoint: nobody answers, and creating TrainJobs is refused",
                   "look whether the operator's Pods are ready: kubectl get pods -n " + target.ns);
}

}  // namespace cotrain::app
