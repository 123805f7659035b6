// Furnishes the cluster, keeps the player playing.
#include "app/box.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "api/json.hpp"
#include "api/schema/crd.hpp"
#include "base/random.hpp"
#include "kube/base64.hpp"
#include "serve/certificate_set.hpp"
#include "sim/snapshot.hpp"

namespace cotrain::app {

namespace {

api::seconds_time wall() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

constexpr std::string_view node = R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{}"}},
"spec":{{}},"status":{{"conditions":[{{"type":"Ready","status":"True","reason":"KubeletReady"}}],
"capacity":{{"cpu":"64","memory":"256Gi","pods":"250"}},"allocatable":{{"cpu":"64","memory":"256Gi","pods":"250"}},
"nodeInfo":{{"kubeletVersion":"v1.36.0-played","operatingSystem":"linux","architecture":"amd64"}}}}}})";
constexpr int nodes = 4;

std::string random_token() {
    base::random_source random = base::random_source::from_system();
    std::string out;
    for (int i = 0; i < 4; ++i) out += fmt::format("{:016x}", random.next());
    return out;
}

}  // namespace

box::box(asio::io_context& loop, box_options options, base::logger& log)
    : loop_(loop),
      options_(std::move(options)),
      log_(log),
      cluster_(options_.seed),
      wake_(loop),
      tasks_(loop.get_executor()) {
    sim::add_neighbours(cluster_.types());
}

box::~box() = default;

base::result<> box::furnish() {
    const auto make = [&](std::string_view group, std::string_view version, std::string_view plural, std::string ns,
                          api::ref object) -> base::result<> {
        const auto done = cluster_.create({cluster_.types().find(group, version, plural), std::move(ns)}, object,
                                          {.manager = "cotrain"}, wall());
        // A snapshot may have brought it along.
        if (!done && done.error().reason != "AlreadyExists")
            return base::fail(base::errc::internal, done.error().message);
        return {};
    };
    for (const api::schema::definition& each : api::schema::definitions()) {
        api::arena memory;
        const api::ref crd = api::schema::make_crd(memory, each);
        if (auto done = make("apiextensions.k8s.io", "v1", "customresourcedefinitions", "", crd); !done) return done;
    }
    for (const char* name : {"default", "kube-system", "kubeflow-system"}) {
        api::arena memory;
        api::editor out = api::editor::object(memory);
        out.ensure_object("metadata").set("name", name);
        if (auto done = make("", "v1", "namespaces", "", out); !done) return done;
        out = api::editor::object(memory);
        out.ensure_object("metadata").set("name", "default");
        if (auto done = make("", "v1", "serviceaccounts", name, out); !done) return done;
    }
    for (int i = 0; i < nodes; ++i) {
        api::arena memory;
        const std::string text = fmt::format(node, i);
        const auto read = api::parse_json(memory, text);
        if (!read) return base::fail(read.error());
        if (auto done = make("", "v1", "nodes", "", *read); !done) return done;
    }
    return {};
}

base::result<> box::load(std::string_view snapshot) { return sim::read_snapshot(cluster_, snapshot); }

base::result<> box::make_certificates() {
    const serve::certificate_names names{.hosts = {"localhost", "kubernetes.default.svc"},
                                         .addresses = {options_.address.empty() ? "127.0.0.1" : options_.address}};
    auto made = serve::renew({}, serve::standing::renew_all, names, wall());
    if (!made) return base::fail(std::move(made.error()));
    auto context = net::tls::context::for_server({.certificate_pem = made->tls_crt, .key_pem = made->tls_key});
    if (!context) return base::fail(std::move(context.error()));
    tls_ = std::move(*context);
    ca_pem_ = std::move(made->ca_crt);
    token_ = random_token();
    cluster_.tokens()[token_] = {std::string(box_user), {"system:masters", "system:authenticated"}};
    return {};
}

base::result<> box::start() {
    if (auto done = furnish(); !done) return done;
    if (auto done = make_certificates(); !done) return done;
    player_ = std::make_unique<sim::player>(cluster_, options_.script, options_.seed);
    sim::server_config config;
    config.wire.address = options_.address;
    config.wire.port = options_.port;
    config.wire.tls = [tls = tls_] { return tls; };
    config.closed = true;
    config.faults = options_.faults;
    config.fault_seed = options_.seed;
    config.told = options_.told;
    config.changed = [this] {
        wake_.cancel();
        if (options_.changed) options_.changed();
    };
    server_ = std::make_unique<sim::server>(loop_.get_executor(), cluster_, std::move(config), log_);
    if (auto done = server_->start(); !done) return done;
    tasks_.spawn("player", play());
    return {};
}

void box::changed() { server_->changed(); }

awaitable<void> box::play() {
    while (!stopping_) {
        if (player_->act(std::chrono::steady_clock::now(), wall())) server_->changed();
        if (cluster_.objects().version() != player_->seen()) {
            co_await asio::post(loop_, asio::use_awaitable);
            continue;
        }
        const auto due = player_->due();
        wake_.expires_at(due.value_or(std::chrono::steady_clock::time_point::max()));
        co_await wake_.async_wait(use_tuple);
    }
}

awaitable<void> box::stop() {
    stopping_ = true;
    wake_.cancel();
    if (server_) co_await server_->stop();
    tasks_.cancel();
    co_await tasks_.join();
}

std::string box::url() const { return fmt::format("https://{}:{}", options_.address, server_->port()); }

std::string box::kubeconfig() const {
    return fmt::format(R"(apiVersion: v1
kind: Config
clusters:
- name: cotrain
  cluster:
    server: {}
    certificate-authority-data: {}
contexts:
- name: cotrain
  context: {{cluster: cotrain, user: {}, namespace: default}}
current-context: cotrain
users:
- name: {}
  user: {{token: {}}}
)",
                       url(), kube::encode_base64(ca_pem_), box_user, box_user, token_);
}

kube::cluster_config box::config() const {
    kube::cluster_config out;
    out.server = url();
    out.host = options_.address;
    out.port = server_->port();
    out.ca.pem = ca_pem_;
    out.user.token = token_;
    out.ns = "default";
    out.origin = "the cluster in this process";
    return out;
}

}  // namespace cotrain::app
