// The inside of kube::client: one request with its attempts.
#pragma once

#include <memory>

#include "base/random.hpp"
#include "base/signal.hpp"
#include "kube/client.hpp"
#include "kube/sleepers.hpp"
#include "kube/warning.hpp"

namespace cotrain::kube {

struct client::core {
    using time_point = std::chrono::steady_clock::time_point;

    core(asio::any_io_executor run_on, client_options given, std::unique_ptr<auth::keeper> credentials,
         net::client_options wire, const cluster_config& cluster, base::logger& to);

    // All attempts of one request, under its deadline: for a whole answer of 2xx (reply), or for one that is read piece
    // by piece (net::body_stream). One coroutine, since every write of the operator is one.
    template <class Answer>
    [[nodiscard]] awaitable<base::result<Answer>> perform(base::result<call> asked);
    [[nodiscard]] awaitable<void> stop();
    void set_ping(std::chrono::milliseconds idle, std::chrono::milliseconds patience) {
        wire_.set_ping(idle, patience);
    }
    void set_limit(rate_limit limit) { limiter_.change(limit); }
    [[nodiscard]] client_statistics statistics() const;

    client_options options;
    base::logger& log;
    std::string ns;
    std::string server;

   private:
    struct in_flight;
    struct attempts;

    void dress(net::request& http) const;
    // Its turn and the credentials of an attempt; at once, or null when it has to wait for either.
    [[nodiscard]] const auth::grant* admitted(net::priority rank);
    [[nodiscard]] awaitable<base::result<auth::grant>> admit(net::priority rank, time_point due);
    // What an attempt brought, with an error that says what was attempted.
    [[nodiscard]] base::result<reply> judge(const call& what, base::result<net::response> got);
    [[nodiscard]] awaitable<base::result<net::body_stream>> open(const call* what, time_point due);
    // What to do after a failure: wait, renew credentials … True when the request is to go again, else `why` is final.
    [[nodiscard]] awaitable<bool> go_again(const call* what, attempts* so_far, base::error* why);
    // Whether credentials or trust changed, so that a refused request may go again.
    [[nodiscard]] awaitable<base::result<bool>> renew(bool tls, std::uint64_t rejected, time_point due);
    void follow_tls();

    std::unique_ptr<auth::keeper> keeper_;
    std::uint64_t tls_version_;
    bool secure_;
    bool verify_;
    std::string base_path_;
    net::header_list every_request_;  // user agent and impersonation
    limiter limiter_;
    warning_log warnings_;
    request_counters requests_;
    std::uint64_t retries_ = 0;
    std::uint64_t renewals_ = 0;
    base::random_source random_ = base::random_source::from_system();
    sleepers pauses_;
    std::size_t running_ = 0;
    base::signal idle_;
    bool stopping_ = false;
    net::client wire_;
};

// What net needs to reach the cluster: peer, names, proxy and TLS.
[[nodiscard]] base::result<net::client_options> wire_options(const cluster_config& cluster, net::client_options wire,
                                                             const auth::tls_material& keys);
[[nodiscard]] base::result<std::shared_ptr<const net::tls::context>> make_tls(const auth::tls_material& keys,
                                                                              bool verify);

}  // namespace cotrain::kube
