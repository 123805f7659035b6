// All that the operator serves: webhooks, metrics and state, health, progress reports, and the certificates for them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.hpp"
#include "app/config/flags.hpp"
#include "app/operator/process.hpp"
#include "base/asio.hpp"
#include "base/log.hpp"
#include "certs/files.hpp"
#include "certs/keeper.hpp"
#include "kube/client.hpp"
#include "net/crowd.hpp"
#include "net/server.hpp"
#include "serve/access_guard.hpp"
#include "serve/exposition.hpp"
#include "serve/progress.hpp"
#include "serve/reply.hpp"
#include "serve/webhook_endpoint.hpp"

namespace cotrain::app {

// What the servers need of the operator; all of it outlives them.
struct servers_tools {
    asio::any_io_executor executor;
    kube::client& api;
    const configuration& config;
    const operator_flags& flags;
    base::logger& log;
    serve::cluster_view& cluster;
    runtime::plugins plugins;
    std::vector<serve::check> ready;             // beside the certificates
    std::vector<serve::metrics_source> metrics;  // beside those of the servers themselves
    std::function<std::string()> state;          // /debug/state, as JSON
    serve::progress_endpoint::job_lookup jobs;   // whose Pods may report progress
};

// The name of our Service inside of the cluster, which certificates are for.
[[nodiscard]] std::string service_host(const configuration& config, const kube::client& api);

class servers {
   public:
    explicit servers(servers_tools tools);

    // Binds all ports; the error names the one that cannot be had.
    [[nodiscard]] base::result<> start();
    // Nobody takes anything new; what was accepted is answered where that works until `latest`.
    [[nodiscard]] awaitable<void> stop(std::chrono::steady_clock::time_point latest);

    // Where a server listens ("webhooks", "metrics", "health"); 0 if it does not.
    [[nodiscard]] std::uint16_t port_of(std::string_view what) const;
    // For pods that report their progress; empty until there is one.
    [[nodiscard]] std::string ca_certificate() const;
    // Why not ready; empty when all is well.
    [[nodiscard]] std::string certificate_trouble() const;

   private:
    [[nodiscard]] awaitable<void> answer_health(net::incoming request);
    [[nodiscard]] awaitable<void> answer_metrics(net::incoming request);
    [[nodiscard]] base::result<> listen(std::string_view what, net::server_options options,
                                        net::request_handler handler);
    [[nodiscard]] net::server_options secured(net::server_options options) const;
    [[nodiscard]] base::result<> listen_for_reviews();
    [[nodiscard]] bool needs_certificate() const;
    void keep_certificates();
    void write_metrics(serve::exposition& to) const;

    servers_tools tools_;
    std::shared_ptr<net::memory_account> account_;  // of all servers
    connection_shares shares_;
    certs::served_certificate certificate_;
    std::unique_ptr<certs::certificate_keeper> keeper_;
    std::unique_ptr<certs::certificate_files> files_;
    std::unique_ptr<certs::client_authorities> clients_;
    serve::webhook_endpoint webhooks_;
    serve::access_guard guard_;
    std::unique_ptr<serve::progress_endpoint> progress_;
    std::vector<serve::probe> probes_;
    std::vector<serve::metrics_source> sources_;
    struct listening {
        std::string what;
        std::unique_ptr<net::server> on;
    };
    std::vector<listening> servers_;
};

}  // namespace cotrain::app
