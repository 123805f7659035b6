// The embedded API server on a port: requests, webhooks of its cluster, faults.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "base/task_group.hpp"
#include "net/client.hpp"
#include "net/server.hpp"
#include "sim/admission.hpp"
#include "sim/cluster.hpp"
#include "sim/faults.hpp"
#include "sim/front.hpp"

namespace cotrain::sim {

// Carries reviews to webhooks: one HTTP/2 client for each of them, kept open.

inline constexpr std::size_t hook_clients_max = 64;
inline constexpr std::size_t hook_answer_bytes_max = 4UL * 1024 * 1024;

// Where a Service ends: "namespace/name" to an address.
using service_table = std::map<std::string, net::tcp::address, std::less<>>;

class hooks {
   public:
    hooks(asio::any_io_executor executor, service_table services, base::logger& log);
    ~hooks();

    // Webhooks have to speak HTTP/2.
    [[nodiscard]] awaitable<hook_answer> call(hook_call what);
    [[nodiscard]] awaitable<void> stop();
    void reach(std::string service, net::tcp::address at) { services_[std::move(service)] = std::move(at); }

   private:
    // The client, or why there is none.
    [[nodiscard]] base::result<net::client*> client_for(const hook_call& what);

    asio::any_io_executor executor_;
    service_table services_;
    base::logger& log_;
    std::map<std::string, std::unique_ptr<net::client>> clients_;  // by address and authority
};

// The embedded API server on a port: HTTP/2 or HTTP/1.1, watches as streams, webhooks called, the garbage collector in
// between.

class relay;

// A watch writes so much at once, then waits until its peer has room.
inline constexpr std::size_t watch_write_bytes = 64UL * 1024;
inline constexpr std::chrono::seconds bookmark_interval{60};
inline constexpr std::size_t watches_max = 4096;
// Steps of the garbage collector between two turns of the loop.
inline constexpr int collect_steps_max = 256;

struct server_counters {
    std::uint64_t requests = 0;
    std::uint64_t watches = 0;
    std::uint64_t watch_bytes = 0;  // written to watches
    std::size_t watches_open = 0;
};

// One request, when it has been answered; a watch when it has begun.
struct request_note {
    std::string_view verb;  // as RBAC calls it; empty where there is no resource
    std::string_view resource;
    std::string_view path;
    std::string_view user_agent;
    int status = 0;
    std::size_t bytes_in = 0;
    std::size_t bytes_out = 0;
    bool writes = false;              // it may change objects…
    bool changed = false;             // …and did
    std::chrono::nanoseconds took{};  // inside of the server
};

// An API server's clients are few, known, and ask much at once.
[[nodiscard]] net::server_options api_server_wire();

struct server_config {
    net::server_options wire = api_server_wire();
    // Only those whose token the cluster knows or whose certificate the wire's TLS trusts; else everybody may do
    // everything.
    bool closed = false;
    bool collects = true;  // garbage, and what is in namespaces that are deleted: as kube-controller-manager does
    service_table services{};
    std::vector<fault_rule> faults{};
    // Requests of user agents that begin so meet no fault and are not counted by the rules; empty: all are.
    std::string spared_agent{};
    std::uint64_t fault_seed = 1;
    std::function<void(const request_note&)> on_request{};
    std::function<void()> changed{};  // an object has changed
};

// The cluster must outlive the server. changed() announces changes made to it from outside.
class server {
   public:
    server(asio::any_io_executor executor, cluster& of, server_config config, base::logger& log);
    ~server();

    [[nodiscard]] base::result<> start();
    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] server_counters counters() const { return counters_; }
    [[nodiscard]] const faults& trouble() const { return faults_; }
    // Wakes watches and the garbage collector.
    void changed();
    // Where webhooks of that Service are reached, "namespace/name".
    void reach(std::string service, net::tcp::address at) { hooks_.reach(std::move(service), std::move(at)); }
    // Ends all watches, then the connections.
    [[nodiscard]] awaitable<void> stop();

   private:
    struct open_watch;
    [[nodiscard]] bool is_spared(const net::incoming& in) const;
    [[nodiscard]] awaitable<void> handle(net::incoming in);
    [[nodiscard]] awaitable<void> serve(net::incoming in, const fault_rule* fault);
    // Asks the cluster, and webhooks as often as it takes.
    [[nodiscard]] awaitable<response> work_out(net::incoming in, bool* wrote);
    static void reply(net::incoming& in, const answer& whole);
    [[nodiscard]] awaitable<void> stream(net::incoming in, opened_watch what, bool expires);
    [[nodiscard]] awaitable<void> collect_loop();
    // Writes what there is; false when the stream is over.
    [[nodiscard]] awaitable<bool> drain(net::incoming in, watcher* events, event_faults* through);

    cluster& cluster_;
    asio::any_io_executor executor_;
    bool closed_;
    bool collects_;
    std::string spared_agent_;
    std::function<void(const request_note&)> on_request_;
    std::function<void()> on_change_;
    faults faults_;
    hooks hooks_;
    server_counters counters_{};
    std::list<open_watch*> watches_;
    base::signal garbage_;
    bool stopping_ = false;
    base::task_group tasks_;
    net::server wire_;
    std::string relay_address_{};
    std::uint16_t relay_port_ = 0;
    std::unique_ptr<relay> relay_;  // with faults that connections cannot do to themselves
};

}  // namespace cotrain::sim
