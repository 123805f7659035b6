// A cluster in this process: the embedded API server with our definitions and JobSet's, on a port, and a player who
// makes JobSets run. For demo, playground and bench.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "app/operator/operator.hpp"
#include "base/log.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "kube/config.hpp"
#include "net/tls/context.hpp"
#include "sim/player.hpp"
#include "sim/server.hpp"

namespace cotrain::playground {

struct box_options {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;
    bool train_jobs = true;  // our definitions and those of our neighbours are there, and JobSets are played
    sim::player_script script{};
    std::vector<sim::fault_rule> faults{};
    std::string spared_agent{};  // see sim::server_config
    std::uint64_t seed = 1;
    std::function<void(const sim::request_note&)> on_request{};
    std::function<void()> on_change{};  // an object has changed
};

inline constexpr std::string_view box_user = "kubernetes-admin";

class box {
   public:
    box(asio::io_context& loop, box_options options, base::logger& log);
    ~box();

    // Objects of a snapshot, before start().
    [[nodiscard]] base::result<> load(std::string_view snapshot);
    // Makes certificates and a token, then opens the port.
    [[nodiscard]] base::result<> start();
    [[nodiscard]] awaitable<void> stop();

    // A kubeconfig for anybody…
    [[nodiscard]] std::string kubeconfig() const;
    // …and the same for clients in this process.
    [[nodiscard]] kube::cluster_config config() const;
    [[nodiscard]] std::string url() const;
    [[nodiscard]] sim::cluster& objects() { return cluster_; }
    [[nodiscard]] sim::server& server() { return *server_; }
    [[nodiscard]] const sim::player& player() const { return *player_; }
    // After the cluster was changed from here.
    void changed();

   private:
    [[nodiscard]] base::result<> add_objects();
    [[nodiscard]] base::result<> make_certificates();
    [[nodiscard]] awaitable<void> play();

    asio::io_context& loop_;
    box_options options_;
    base::logger& log_;
    sim::cluster cluster_;
    std::string ca_pem_;
    std::string token_;
    std::shared_ptr<const net::tls::context> tls_;
    std::unique_ptr<sim::player> player_;
    std::unique_ptr<sim::server> server_;
    asio::steady_timer wake_;
    bool stopping_ = false;
    base::task_group tasks_;
};

// Our operator beside a box, on the same event loop: its own connection, its webhooks registered and called.

class box_operator {
   public:
    box_operator(asio::io_context& loop, box& at, base::logger& log);
    ~box_operator();

    // The client's configuration can be wrong only by a bug.
    [[nodiscard]] base::result<> start();
    // In sync, and reached by the box's webhook configurations.
    [[nodiscard]] awaitable<bool> ready();
    // Until stop() or a signal.
    [[nodiscard]] awaitable<void> ended();
    [[nodiscard]] awaitable<void> stop();
    [[nodiscard]] bool over() const { return over_; }

    [[nodiscard]] const app::operator_process& process() const { return *process_; }
    [[nodiscard]] kube::client& api() { return *api_; }

   private:
    [[nodiscard]] awaitable<void> run();
    void register_webhooks();

    asio::io_context& loop_;
    box& box_;
    base::logger& log_;
    std::unique_ptr<kube::client> api_;
    std::unique_ptr<app::operator_process> process_;
    base::task_group tasks_;
    base::signal end_;
    bool over_ = false;
};

}  // namespace cotrain::playground
