// Sends reviews.
#include "sim/hooks.hpp"

#include <fmt/format.h>

#include <utility>

namespace cotrain::sim {

hooks::hooks(asio::any_io_executor executor, service_table services, base::logger& log)
    : executor_(std::move(executor)), services_(std::move(services)), log_(log) {}

hooks::~hooks() = default;

base::result<net::client*> hooks::client_for(const hook_call& what) {
    net::tcp::address peer{what.host, what.port};
    if (!what.service.empty()) {
        const auto found = services_.find(what.service);
        if (found == services_.end())
            return base::fail(base::errc::connect, fmt::format("service \"{}\" has no endpoints here", what.service));
        peer = found->second;
    }
    const std::string key = fmt::format("{}:{}\n{}", peer.host, peer.port, what.ca_pem);
    if (const auto found = clients_.find(key); found != clients_.end()) return found->second.get();
    if (clients_.size() >= hook_clients_max)
        return base::fail(base::errc::too_large, fmt::format("there are {} webhooks already", hook_clients_max));
    auto tls = net::tls::context::for_client({.ca_pem = what.ca_pem});
    if (!tls) return base::fail(std::move(tls.error()));
    net::client_options options;
    options.peer = std::move(peer);
    options.server_name = what.host;
    options.authority = what.host;
    options.tls = std::move(*tls);
    options.body_bytes_max = hook_answer_bytes_max;
    return clients_.emplace(key, std::make_unique<net::client>(executor_, std::move(options), log_))
        .first->second.get();
}

awaitable<hook_answer> hooks::call(hook_call what) {
    const auto with = client_for(what);
    if (!with) co_return hook_answer{false, with.error().message};
    net::request request;
    request.method = "POST";
    request.path = fmt::format("{}?timeout={}s", what.path, what.timeout.count());
    request.headers = {{"content-type", "application/json"}, {"accept", "application/json"}};
    request.body = std::move(what.review);
    request.idempotent = true;
    request.deadline = what.timeout;
    auto said = co_await (*with)->send(std::move(request));
    if (!said) co_return hook_answer{false, said.error().message};
    if (said->status != 200) co_return hook_answer{false, fmt::format("unexpected status {}", said->status)};
    co_return hook_answer{true, std::move(said->body)};
}

awaitable<void> hooks::stop() {
    for (auto& [key, each] : clients_) co_await each->stop();
    clients_.clear();
}

}  // namespace cotrain::sim
