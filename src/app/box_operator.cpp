// Starts the operator and tells the box where its webhooks are.
#include "app/box_operator.hpp"

#include <fmt/format.h>

#include <array>

#include "api/edit.hpp"

namespace cotrain::app {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view operator_home = "kubeflow-system";
constexpr std::string_view operator_service = "kubeflow-trainer-controller-manager";
constexpr auto ready_within = 20s;
constexpr auto look_pause = 5ms;

api::editor hook(api::editor list, std::string_view role, std::string_view path, std::string_view kind_name,
                 std::string_view plural) {
    api::editor out = list.append_object();
    out.set("name", fmt::format("{}.{}.trainer.kubeflow.org", role, kind_name));
    api::editor service = out.ensure_object({"clientConfig", "service"});
    service.set("namespace", operator_home).set("name", operator_service);
    service.set("path", fmt::format("/{}-trainer-kubeflow-org-v1alpha1-{}", path, kind_name));
    out.ensure_array("admissionReviewVersions").append("v1");
    out.set("sideEffects", "None").set("failurePolicy", "Fail").set("timeoutSeconds", 10);
    api::editor rule = out.ensure_array("rules").append_object();
    rule.ensure_array("apiGroups").append("trainer.kubeflow.org");
    rule.ensure_array("apiVersions").append("v1alpha1");
    rule.ensure_array("operations").append("CREATE").append("UPDATE");
    rule.ensure_array("resources").append(plural);
    return out;
}

configuration box_configuration() {
    configuration out;
    out.webhook.host = "127.0.0.1";
    out.webhook.port = 0;
    out.metrics.bind.enabled = false;
    out.health.bind.enabled = false;
    out.events.normal = true;
    return out;
}

}  // namespace

box_operator::box_operator(asio::io_context& loop, box& at, base::logger& log)
    : loop_(loop), box_(at), log_(log), tasks_(loop.get_executor()) {}

box_operator::~box_operator() = default;

void box_operator::register_webhooks() {
    const auto make = [&](std::string_view plural, api::editor object) {
        const auto made = box_.objects().create(
            {box_.objects().types().find("admissionregistration.k8s.io", "v1", plural)}, object, {.manager = "cotrain"},
            std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
        if (!made) log_.error("no webhooks", {{"resource", plural}, {"error", made.error().message}});
    };
    api::arena memory;
    api::editor mutating = api::editor::object(memory);
    mutating.ensure_object("metadata").set("name", "defaulter.trainer.kubeflow.org");
    hook(mutating.ensure_array("webhooks"), "defaulter", "mutate", "trainjob", "trainjobs");
    make("mutatingwebhookconfigurations", mutating);
    api::editor validating = api::editor::object(memory);
    validating.ensure_object("metadata").set("name", "validator.trainer.kubeflow.org");
    api::editor hooks = validating.ensure_array("webhooks");
    for (const char* kind_name : {"trainjob", "trainingruntime", "clustertrainingruntime"})
        hook(hooks, "validator", "validate", kind_name, std::string(kind_name) + "s");
    make("validatingwebhookconfigurations", validating);
    box_.changed();
}

base::result<> box_operator::start() {
    kube::client_options options;
    options.user_agent = kube::user_agent(COTRAIN_VERSION);
    kube::cluster_config where = box_.config();
    where.ns = operator_home;
    auto made = kube::client::make(loop_.get_executor(), where, std::move(options), log_);
    if (!made) return base::fail(std::move(made.error()));
    api_ = std::move(*made);
    register_webhooks();
    process_ = std::make_unique<operator_process>(loop_, *api_, box_configuration(), operator_flags{}, log_);
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

}  // namespace cotrain::app
