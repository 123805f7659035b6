// Which server has which limits and answers with what.
#include "app/operator/servers.hpp"

#include <algorithm>
#include <utility>

#include "app/config/config.hpp"
#include "app/operator/process.hpp"
#include "kube/config.hpp"
#include "serve/exposition.hpp"

namespace cotrain::app {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view default_namespace = "kubeflow-system";
// Probes and scrapes are small and few.
constexpr std::size_t small_body_bytes_max = 4096;

std::string operator_namespace(const kube::client& api) {
    const std::string& ns = api.default_namespace();
    return ns.empty() ? std::string(default_namespace) : ns;
}

certs::certificate_names certificate_names_of(const std::string& host) {
    certs::certificate_names out{.hosts = {host, host + ".cluster.local"}};
    // Outside of a cluster the API server reaches us by an address.
    if (kube::environment::of_process().service_host.empty()) out.addresses = {"127.0.0.1"};
    return out;
}

net::server_options small_server(const listen_address& at) {
    net::server_options out;
    out.address = at.host;
    out.port = at.port;
    out.body_bytes_max = small_body_bytes_max;
    out.request = 5s;
    out.idle = 60s;
    return out;
}

serve::probe probe_at(const std::string& name, std::vector<serve::check> checks) {
    return {.path = "/" + name, .checks = std::move(checks)};
}

}  // namespace

std::string service_host(const configuration& config, const kube::client& api) {
    return config.certificates.service + "." + operator_namespace(api) + ".svc";
}

std::string servers::ca_certificate() const {
    if (keeper_) return keeper_->current().ca_crt;
    return files_ ? files_->authority() : std::string();
}

servers::servers(servers_tools tools)
    : tools_(std::move(tools)),
      account_(std::make_shared<net::memory_account>(net::memory_account::share_of(memory_limit()))),
      shares_(share_connections(descriptors_max())),
      certificate_(to_server_options(tools_.config.tls)),
      webhooks_(tools_.executor, tools_.cluster, tools_.plugins, to_admission(tools_.config.effective_gates()),
                *account_),
      guard_(tools_.api, tools_.log) {
    const health_config& health = tools_.config.health;
    const serve::check ping{"ping", [] { return std::string(); }};
    std::vector<serve::check> ready = tools_.ready;
    ready.push_back({"certificates", [this] { return certificate_trouble(); }});
    // The ecosystem's paths work whatever else is configured.
    probes_ = {probe_at("healthz", {ping}), probe_at("readyz", ready)};
    if (health.liveness != "healthz") probes_.push_back(probe_at(health.liveness, {ping}));
    if (health.readiness != "readyz") probes_.push_back(probe_at(health.readiness, ready));
    sources_ = tools_.metrics;
    sources_.emplace_back([this](serve::exposition& to) { write_metrics(to); });
    sources_.emplace_back(serve::write_process_metrics);
}

bool servers::needs_certificate() const {
    const configuration& config = tools_.config;
    const bool metrics = config.metrics.bind.enabled && config.metrics.secure;
    return config.webhook.enabled || metrics || config.effective_gates().train_job_status;
}

std::string servers::certificate_trouble() const {
    if (!needs_certificate()) return {};
    if (!certificate_.ready()) return "there is no serving certificate yet";
    if (keeper_ && !keeper_->settled()) return "the certificates are not saved yet";
    return {};
}

net::server_options servers::secured(net::server_options options) const {
    options.tls = [this] { return certificate_.context(); };
    return options;
}

base::result<> servers::listen(std::string_view what, net::server_options options, net::request_handler handler) {
    options.account = account_;
    auto made = std::make_unique<net::server>(tools_.executor, std::move(options), std::move(handler), tools_.log);
    if (auto started = made->start(); !started) return base::fail(std::move(started.error()).during(what));
    tools_.log.info("serving", {{"what", what}, {"port", std::int64_t{made->port()}}});
    servers_.push_back({std::string(what), std::move(made)});
    return {};
}

std::uint16_t servers::port_of(std::string_view what) const {
    const auto found = std::ranges::find(servers_, what, &listening::what);
    return found == servers_.end() ? 0 : found->on->port();
}

void servers::keep_certificates() {
    const configuration& config = tools_.config;
    if (!needs_certificate()) return;
    if (config.certificates.managed) {
        const std::string ns = operator_namespace(tools_.api);
        keeper_ = std::make_unique<certs::certificate_keeper>(
            tools_.executor, tools_.api, certificate_,
            certs::keeper_options{.ns = ns,
                                  .secret = config.certificates.secret,
                                  .names = certificate_names_of(service_host(config, tools_.api)),
                                  .webhooks = config.webhook.enabled},
            tools_.log);
        keeper_->start();
        return;
    }
    const std::string& given = tools_.flags.webhook_cert_dir;
    files_ = std::make_unique<certs::certificate_files>(tools_.executor, certificate_,
                                                        given.empty() ? default_cert_dir() : given, tools_.log);
    files_->start();
}

base::result<> servers::listen_for_reviews() {
    const webhook_config& config = tools_.config.webhook;
    net::server_options reviews = secured(serve::webhook_endpoint::server_options());
    reviews.address = config.host;
    reviews.port = config.port;
    reviews.connections_max = shares_.reviews;
    if (!config.client_ca.empty()) {
        clients_ =
            std::make_unique<certs::client_authorities>(tools_.executor, certificate_, config.client_ca, tools_.log);
        if (auto known = clients_->start(); !known)
            return base::fail(std::move(known.error()).during("webhook.clientCA"));
        reviews.tls = [this] { return certificate_.demanding_context(); };
    }
    return listen("webhooks", reviews, [this](net::incoming in) { return webhooks_.answer(std::move(in)); });
}

base::result<> servers::start() {
    const configuration& config = tools_.config;
    if (config.health.bind.enabled) {
        net::server_options options = small_server(config.health.bind);
        options.plain_http1 = true;
        options.connections_max = shares_.health;
        auto up = listen("health", options, [this](net::incoming in) { return answer_health(std::move(in)); });
        if (!up) return up;
    }
    if (config.metrics.bind.enabled) {
        net::server_options options = small_server(config.metrics.bind);
        options.plain_http1 = true;
        options.connections_max = shares_.metrics;
        if (config.metrics.secure) options = secured(options);
        auto up = listen("metrics", options, [this](net::incoming in) { return answer_metrics(std::move(in)); });
        if (!up) return up;
    }
    if (config.webhook.enabled) {
        if (auto up = listen_for_reviews(); !up) return up;
    }
    if (config.effective_gates().train_job_status) {
        const rate_config& rate = config.status_server.rate;
        progress_ = std::make_unique<serve::progress_endpoint>(
            tools_.api, kube::rate_limit{rate.effective_qps(), rate.effective_burst()}, tools_.jobs, tools_.log);
        net::server_options reports = secured(serve::progress_endpoint::server_options());
        reports.address = {};
        reports.port = config.status_server.port;
        reports.connections_max = shares_.reports;
        auto up =
            listen("progress reports", reports, [this](net::incoming in) { return progress_->answer(std::move(in)); });
        if (!up) return up;
    }
    keep_certificates();
    return {};
}

awaitable<void> servers::stop(std::chrono::steady_clock::time_point latest) {
    if (progress_) progress_->stop();
    // All at once: none takes requests while another one is waited for.
    for (const listening& each : servers_) each.on->close();
    for (const listening& each : servers_) co_await each.on->stop(latest);
    if (keeper_) co_await keeper_->stop();
    if (files_) co_await files_->stop();
    if (clients_) co_await clients_->stop();
}

awaitable<void> servers::answer_health(net::incoming request) {
    serve::send(request, serve::answer_probe(probes_, request.head()));
    co_return;
}

awaitable<void> servers::answer_metrics(net::incoming request) {
    const auto& head = request.head();
    const std::string path(serve::split_target(head.path).path);
    if (path != "/metrics" && path != "/debug/state") co_return serve::send(request, serve::not_found());
    if (tools_.config.metrics.authentication) {
        std::string credential(serve::bearer_token(net::find_header(head.headers, "authorization")));
        const int verdict = co_await guard_.judge(std::move(credential), path);
        if (verdict == 401) {
            serve::reply who = serve::status_reply(401, "Unauthorized", "a bearer token is needed");
            who.headers = {{"www-authenticate", "Bearer"}};
            co_return serve::send(request, std::move(who));
        }
        if (verdict == 403)
            co_return serve::send(request, serve::status_reply(403, "Forbidden", "may not get " + path));
        if (verdict != 200)
            co_return serve::send(request, serve::status_reply(503, "ServiceUnavailable", "try again later"));
    }
    if (path == "/metrics") co_return serve::send(request, serve::scrape(sources_, head));
    if (!serve::only_reads(head)) co_return serve::send(request, serve::method_not_allowed("GET, HEAD"));
    serve::send(request, {.content_type = "application/json", .body = tools_.state() + "\n"});
}

void servers::write_metrics(serve::exposition& to) const {
    using serve::metric_type;
    webhooks_.write_metrics(to);
    to.single("certwatcher_read_certificate_total", metric_type::counter, "Total number of certificate reads.",
              static_cast<double>(certificate_.reads()));
    to.single("certwatcher_read_certificate_errors_total", metric_type::counter,
              "Total number of certificate reads that failed.", static_cast<double>(certificate_.failures()));
    const certs::served_certificate::validity valid = certificate_.valid();
    to.single("cotrain_certificate_not_before_timestamp_seconds", metric_type::gauge,
              "When the serving certificate begins to be valid; 0: there is none.", static_cast<double>(valid.begin));
    to.single("cotrain_certificate_not_after_timestamp_seconds", metric_type::gauge,
              "When the serving certificate expires; 0: there is none.", static_cast<double>(valid.end));
    to.family("cotrain_http_connections_open", metric_type::gauge, "Connections to our servers, by server.");
    for (const listening& each : servers_)
        to.sample({{"server", each.what}}, static_cast<double>(each.on->counters().connections_open));
    to.family("cotrain_http_requests_total", metric_type::counter, "Requests that our servers took, by server.");
    for (const listening& each : servers_)
        to.sample({{"server", each.what}}, static_cast<double>(each.on->counters().requests));
    to.family("cotrain_http_connections_displaced_total", metric_type::counter,
              "Connections that were closed to make room for others, by server.");
    for (const listening& each : servers_)
        to.sample({{"server", each.what}}, static_cast<double>(each.on->counters().displaced_connections));
    to.single("cotrain_http_memory_bytes", metric_type::gauge, "Memory that requests to our servers hold.",
              static_cast<double>(account_->held()));
    to.single("cotrain_http_memory_max_bytes", metric_type::gauge, "Memory that requests to our servers may hold.",
              static_cast<double>(account_->bytes_max()));
    to.single("cotrain_http_requests_ended_total", metric_type::counter,
              "Requests that were ended or refused for want of memory.", static_cast<double>(account_->endings()));
    to.family("cotrain_http_connections_refused_total", metric_type::counter,
              "Connections beyond the bound of a server, by server.");
    for (const listening& each : servers_)
        to.sample({{"server", each.what}}, static_cast<double>(each.on->counters().refused_connections));
}

}  // namespace cotrain::app
