// The verbs: a builder, the core, and a look at the answer.
#include "kube/client.hpp"

#include <algorithm>
#include <utility>

#include "kube/core.hpp"

namespace cotrain::kube {

std::string user_agent(std::string_view version) {
#if defined(__aarch64__)
    constexpr std::string_view architecture = "arm64";
#elif defined(__x86_64__)
    constexpr std::string_view architecture = "amd64";
#else
    constexpr std::string_view architecture = "other";
#endif
    std::string text = "cotrain/";
    text.append(version).append(" (linux/").append(architecture).append(")");
    return text;
}

client::client(std::unique_ptr<core> inside) : core_(std::move(inside)) {}
client::~client() = default;

base::result<std::unique_ptr<client>> client::make(asio::any_io_executor executor, const cluster_config& cluster,
                                                   client_options options, base::logger& log) {
    auto keeper = auth::keeper::make(executor, cluster, options.auth, log, std::chrono::steady_clock::now());
    if (!keeper) return base::fail(std::move(keeper).error());
    auto wire = wire_options(cluster, std::move(options.wire), (*keeper)->tls());
    if (!wire) return base::fail(std::move(wire).error().during(cluster.origin));
    options.wire = {};
    return std::unique_ptr<client>(new client(std::make_unique<core>(
        std::move(executor), std::move(options), std::move(*keeper), std::move(*wire), cluster, log)));
}

awaitable<base::result<reply>> client::run(base::result<call> what) { return core_->perform<reply>(std::move(what)); }

awaitable<base::result<reply>> client::perform(call what) { return run(std::move(what)); }

awaitable<base::result<reply>> client::get(const resource& of, const location& at, const get_options& options) {
    return run(build_get(of, at, options));
}

awaitable<base::result<reply>> client::list(const resource& of, std::string_view ns, const list_options& options) {
    return run(build_list(of, ns, options));
}

awaitable<base::result<reply>> client::create(const resource& of, std::string_view ns, std::string body,
                                              const write_options& options) {
    return run(build_create(of, ns, std::move(body), options));
}

awaitable<base::result<reply>> client::update(const resource& of, const location& at, std::string body,
                                              const write_options& options) {
    return run(build_update(of, at, std::move(body), options));
}

awaitable<base::result<reply>> client::apply(const resource& of, const location& at, std::string body, bool force,
                                             const write_options& options) {
    return run(build_apply(of, at, std::move(body), force, options));
}

awaitable<base::result<reply>> client::merge_patch(const resource& of, const location& at, std::string body,
                                                   const write_options& options) {
    return run(build_merge_patch(of, at, std::move(body), options));
}

awaitable<base::result<reply>> client::json_patch(const resource& of, const location& at, std::string body,
                                                  const write_options& options) {
    return run(build_json_patch(of, at, std::move(body), options));
}

awaitable<base::result<reply>> client::remove(const resource& of, const location& at, const delete_options& options) {
    return run(build_delete(of, at, options));
}

awaitable<base::result<watch_stream>> client::watch(const resource& of, std::string_view ns,
                                                    const watch_options& options) {
    return open_watch(build_watch(of, ns, options), options.timeout);
}

awaitable<base::result<watch_stream>> client::open_watch(base::result<call> what, std::chrono::seconds timeout) {
    if (!what) co_return base::fail(std::move(what).error());
    std::string attempt = what->attempt;
    auto got = co_await core_->perform<net::body_stream>(std::move(what));
    if (!got) co_return base::fail(std::move(got).error());
    const auto due = std::chrono::steady_clock::now() + timeout + core_->options.watch_grace;
    co_return watch_stream(std::move(*got), std::move(attempt), due, core_->options.watch_line_bytes_max);
}

void client::set_ping(std::chrono::milliseconds idle, std::chrono::milliseconds answer) {
    core_->set_ping(idle, answer);
}

void client::set_limit(rate_limit limit) { core_->set_limit(limit); }

client_statistics client::statistics() const { return core_->statistics(); }
const std::string& client::server() const { return core_->server; }
const std::string& client::default_namespace() const { return core_->ns; }
awaitable<void> client::stop() { return core_->stop(); }

list_pages client::pages(const resource& of, std::string_view ns, const list_options& options) {
    return {*this, of, ns, options};
}

list_pages::list_pages(client& from, const resource& of, std::string_view ns, const list_options& options)
    : from_(&from),
      of_(of),
      ns_(ns),
      label_selector_(options.label_selector),
      field_selector_(options.field_selector),
      resource_version_(options.resource_version),
      resource_version_match_(options.resource_version_match),
      continue_token_(options.continue_token),
      options_(options) {}

awaitable<base::result<std::optional<list_page>>> list_pages::next() {
    if (done_) co_return std::optional<list_page>{};
    list_options options = options_;
    options.label_selector = label_selector_;
    options.field_selector = field_selector_;
    options.continue_token = continue_token_;
    // The token names the version: both together are refused.
    options.resource_version = continue_token_.empty() ? std::string_view(resource_version_) : std::string_view();
    options.resource_version_match =
        continue_token_.empty() ? std::string_view(resource_version_match_) : std::string_view();
    auto got = co_await from_->list(of_, ns_, options);
    if (!got) co_return base::fail(std::move(got).error());
    auto head = read_list_head(got->body);
    if (!head) co_return base::fail(std::move(head).error().during("list " + describe(of_, {.ns = ns_})));
    continue_token_ = head->continue_token;
    done_ = continue_token_.empty();
    co_return list_page{std::move(got->body), std::move(*head)};
}

}  // namespace cotrain::kube
