#include "playground/box.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "app/build_info.hpp"
#include "crd/crd.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "playground/local_tls.hpp"
#include "playground/private_file.hpp"
#include "plugins/builtin.hpp"
#include "sim/cluster.hpp"

namespace cotrain::playground {

namespace {

base::seconds_time wall() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

constexpr std::string_view node = R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{}"}},
"spec":{{}},"status":{{"conditions":[{{"type":"Ready","status":"True","reason":"KubeletReady"}}],
"capacity":{{"cpu":"64","memory":"256Gi","pods":"250"}},"allocatable":{{"cpu":"64","memory":"256Gi","pods":"250"}},
"nodeInfo":{{"kubeletVersion":"v1.36.0-played","operatingSystem":"linux","architecture":"amd64"}}}}}})";
constexpr int nodes = 4;

using namespace std::chrono_literals;

constexpr std::string_view operator_home = "kubeflow-system";
constexpr std::string_view operator_service = "kubeflow-trainer-controller-manager";
constexpr auto ready_within = 20s;
constexpr auto look_pause = 5ms;

doc::editor hook(doc::editor list, std::string_view role, std::string_view path, std::string_view kind_name,
                 std::string_view plural) {
    doc::editor out = list.append_object();
    out.set("name", fmt::format("{}.{}.trainer.kubeflow.org", role, kind_name));
    doc::editor service = out.ensure_object({"clientConfig", "service"});
    service.set("namespace", operator_home).set("name", operator_service);
    service.set("path", fmt::format("/{}-trainer-kubeflow-org-v1alpha1-{}", path, kind_name));
    out.ensure_array("admissionReviewVersions").append("v1");
    out.set("sideEffects", "None").set("failurePolicy", "Fail").set("timeoutSeconds", 10);
    doc::editor rule = out.ensure_array("rules").append_object();
    rule.ensure_array("apiGroups").append("trainer.kubeflow.org");
    rule.ensure_array("apiVersions").append("v1alpha1");
    rule.ensure_array("operations").append("CREATE").append("UPDATE");
    rule.ensure_array("resources").append(plural);
    return out;
}

app::configuration box_configuration() {
    app::configuration out;
    out.webhook.host = "127.0.0.1";
    out.webhook.port = 0;
    out.metrics.bind.enabled = false;
    out.health.bind.enabled = false;
    out.events.normal = true;
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
    if (options_.train_jobs) sim::add_neighbours(cluster_.types());
}

box::~box() = default;

base::result<> box::add_objects() {
    const auto make = [&](std::string_view group, std::string_view version, std::string_view plural, std::string ns,
                          doc::ref object) -> base::result<> {
        const auto done = cluster_.create({cluster_.types().find(group, version, plural), std::move(ns)}, object,
                                          {.manager = "cotrain"}, wall());
        // A snapshot may have brought it along.
        if (!done && done.error().reason != "AlreadyExists")
            return base::fail(base::errc::internal, done.error().message);
        return {};
    };
    for (const crd::definition& each : crd::definitions()) {
        if (!options_.train_jobs) break;
        doc::arena memory;
        const doc::ref crd = crd::make_crd(memory, each);
        if (auto done = make("apiextensions.k8s.io", "v1", "customresourcedefinitions", "", crd); !done) return done;
    }
    for (const char* name : {"default", "kube-system", "kubeflow-system"}) {
        doc::arena memory;
        doc::editor out = doc::editor::object(memory);
        out.ensure_object("metadata").set("name", name);
        if (auto done = make("", "v1", "namespaces", "", out); !done) return done;
        out = doc::editor::object(memory);
        out.ensure_object("metadata").set("name", "default");
        if (auto done = make("", "v1", "serviceaccounts", name, out); !done) return done;
    }
    for (int i = 0; i < nodes; ++i) {
        doc::arena memory;
        const std::string text = fmt::format(node, i);
        const auto read = doc::parse_json(memory, text);
        if (!read) return base::fail(read.error());
        if (auto done = make("", "v1", "nodes", "", *read); !done) return done;
    }
    return {};
}

base::result<> box::load(std::string_view snapshot) { return sim::read_snapshot(cluster_, snapshot); }

base::result<> box::make_certificates() {
    auto made = make_local_tls(options_.address.empty() ? "127.0.0.1" : options_.address, "");
    if (!made) return base::fail(std::move(made.error()));
    tls_ = std::move(made->context);
    ca_pem_ = std::move(made->ca_pem);
    token_ = random_token();
    cluster_.tokens()[token_] = {std::string(box_user), {"system:masters", "system:authenticated"}};
    return {};
}

base::result<> box::start() {
    if (auto done = add_objects(); !done) return done;
    if (auto done = make_certificates(); !done) return done;
    if (options_.train_jobs) player_ = std::make_unique<sim::player>(cluster_, options_.script, options_.seed);
    sim::server_config config;
    config.wire.address = options_.address;
    config.wire.port = options_.port;
    config.wire.tls = [tls = tls_] { return tls; };
    config.closed = true;
    config.faults = options_.faults;
    config.spared_agent = options_.spared_agent;
    config.fault_seed = options_.seed;
    config.on_request = options_.on_request;
    config.changed = [this] {
        wake_.cancel();
        if (options_.on_change) options_.on_change();
    };
    server_ = std::make_unique<sim::server>(loop_.get_executor(), cluster_, std::move(config), log_);
    if (auto done = server_->start(); !done) return done;
    if (player_) tasks_.spawn("player", play());
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
    return write_kubeconfig({.server = url(), .ca_pem = ca_pem_, .user = box_user, .token = token_});
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

box_operator::box_operator(asio::io_context& loop, box& at, base::logger& log)
    : loop_(loop), box_(at), log_(log), tasks_(loop.get_executor()) {}

box_operator::~box_operator() = default;

void box_operator::register_webhooks() {
    const auto make = [&](std::string_view plural, doc::editor object) {
        const auto made = box_.objects().create(
            {box_.objects().types().find("admissionregistration.k8s.io", "v1", plural)}, object, {.manager = "cotrain"},
            std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
        if (!made) log_.error("no webhooks", {{"resource", plural}, {"error", made.error().message}});
    };
    doc::arena memory;
    doc::editor mutating = doc::editor::object(memory);
    mutating.ensure_object("metadata").set("name", "defaulter.trainer.kubeflow.org");
    hook(mutating.ensure_array("webhooks"), "defaulter", "mutate", "trainjob", "trainjobs");
    make("mutatingwebhookconfigurations", mutating);
    doc::editor validating = doc::editor::object(memory);
    validating.ensure_object("metadata").set("name", "validator.trainer.kubeflow.org");
    doc::editor hooks = validating.ensure_array("webhooks");
    for (const char* kind_name : {"trainjob", "trainingruntime", "clustertrainingruntime"})
        hook(hooks, "validator", "validate", kind_name, std::string(kind_name) + "s");
    make("validatingwebhookconfigurations", validating);
    box_.changed();
}

base::result<> box_operator::start() {
    kube::client_options options;
    options.user_agent = kube::user_agent(app::version());
    kube::cluster_config where = box_.config();
    where.ns = operator_home;
    auto made = kube::client::make(loop_.get_executor(), where, std::move(options), log_);
    if (!made) return base::fail(std::move(made.error()));
    api_ = std::move(*made);
    register_webhooks();
    process_ = std::make_unique<app::operator_process>(loop_, *api_, box_configuration(), app::operator_flags{},
                                                       std::make_shared<const plugins::builtin>(), log_);
    tasks_.spawn("operator", run());
    box_.server().reach(fmt::format("{}/{}", operator_home, operator_service),
                        {"127.0.0.1", process_->served() ? process_->served()->port_of("webhooks") : std::uint16_t{0}});
    return {};
}

awaitable<void> box_operator::run() {
    static_cast<void>(co_await process_->run());
    over_ = true;
    end_.notify_later();
}

awaitable<bool> box_operator::ready() {
    asio::steady_timer timer(loop_);
    const auto until = std::chrono::steady_clock::now() + ready_within;
    while (!over_ && std::chrono::steady_clock::now() < until) {
        if (process_->leading() && process_->served()->certificate_trouble().empty()) co_return true;
        timer.expires_after(look_pause);
        if (const auto [error] = co_await timer.async_wait(use_tuple); error) co_return false;
    }
    co_return false;
}

awaitable<void> box_operator::ended() {
    while (!over_)
        if (!co_await end_.wait()) co_return;
}

awaitable<void> box_operator::stop() {
    if (!process_) co_return;
    process_->stop();
    co_await ended();
    co_await tasks_.join();
}

}  // namespace cotrain::playground
