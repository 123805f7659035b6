// The client of one API server: verbs as coroutines, watches, reviews, what they have cost so far.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "kube/answer.hpp"
#include "kube/auth/keeper.hpp"
#include "kube/config.hpp"
#include "kube/pacing.hpp"
#include "kube/request.hpp"
#include "kube/watch_stream.hpp"
#include "net/client.hpp"

namespace cotrain::kube {

// Counts of requests by method and outcome, for the rest_client_* metrics.

struct request_count {
    std::string_view method;  // "GET", …; "other" for what we never send
    int code = 0;             // HTTP status; 0: no answer
    std::uint64_t count = 0;
};

// At most one entry for each of six methods and 501 outcomes, so it is bounded whatever a server answers.
class request_counters {
   public:
    void add(std::string_view method, int code);
    [[nodiscard]] const std::vector<request_count>& all() const { return counts_; }

   private:
    std::vector<request_count> counts_;
};

// The API server as awaitable verbs: credentials, throttling, retries and deadlines included.

struct client_options {
    std::string user_agent = "cotrain/unknown";  // see user_agent() below
    std::chrono::milliseconds deadline{30'000};  // of a request that names none: limiter, retries and answer
    rate_limit limit{};
    retry_policy retry{};
    std::chrono::milliseconds watch_grace{15'000};   // a watch may outlive its timeoutSeconds by this
    std::size_t watch_line_bytes_max = 16UL << 20U;  // one event
    auth::keeper_options auth{};
    net::client_options wire{};  // bounds and times; peer, names, TLS and proxy come from the configuration
};

// "cotrain/<version> (linux/<architecture>)".
[[nodiscard]] std::string user_agent(std::string_view version);

// What a successful request brought: 200 or 201 and the server's JSON.
struct reply {
    int status = 0;
    std::string body;

    [[nodiscard]] bool created() const { return status == 201; }
};

struct list_page {
    std::string body;  // the list with its items
    list_head head;
};

struct client_statistics {
    limiter::statistics throttle;
    std::vector<request_count> requests;  // attempts, by method and outcome
    std::uint64_t retries = 0;            // attempts after the first of a request
    std::uint64_t renewals = 0;           // credentials changed after a 401
    net::client_counters wire;
};

class client;

// The pages of a list, one after the other. Refers to its client.
class list_pages {
   public:
    // The next page; nothing after the last. An error with http_status 410 means the list changed too much meanwhile:
    // start again from the beginning.
    [[nodiscard]] awaitable<base::result<std::optional<list_page>>> next();

   private:
    friend class client;
    list_pages(client& from, const resource& of, std::string_view ns, const list_options& options);

    client* from_;
    resource of_;
    std::string ns_, label_selector_, field_selector_, resource_version_, resource_version_match_, continue_token_;
    list_options options_;
    bool done_ = false;
};

// Arguments are read before a verb first suspends, so views need to live only until the call returns; the awaitable
// must be awaited while the client lives. Errors begin with what was attempted and carry the Status's code and reason.
class client {
   public:
    // Reads the credential files and checks the configuration; connects with the first request.
    [[nodiscard]] static base::result<std::unique_ptr<client>> make(asio::any_io_executor executor,
                                                                    const cluster_config& cluster,
                                                                    client_options options, base::logger& log);
    // stop() must have completed.
    ~client();

    [[nodiscard]] awaitable<base::result<reply>> get(const resource& of, const location& at,
                                                     const get_options& options = {});
    // One answer; with a limit the first page. `ns` empty: all namespaces.
    [[nodiscard]] awaitable<base::result<reply>> list(const resource& of, std::string_view ns,
                                                      const list_options& options = {});
    [[nodiscard]] list_pages pages(const resource& of, std::string_view ns, const list_options& options);
    // Returns once the server has accepted the watch.
    [[nodiscard]] awaitable<base::result<watch_stream>> watch(const resource& of, std::string_view ns,
                                                              const watch_options& options);
    [[nodiscard]] awaitable<base::result<reply>> create(const resource& of, std::string_view ns, std::string body,
                                                        const write_options& options = {});
    [[nodiscard]] awaitable<base::result<reply>> update(const resource& of, const location& at, std::string body,
                                                        const write_options& options = {});
    [[nodiscard]] awaitable<base::result<reply>> apply(const resource& of, const location& at, std::string body,
                                                       bool force, const write_options& options);
    [[nodiscard]] awaitable<base::result<reply>> merge_patch(const resource& of, const location& at, std::string body,
                                                             const write_options& options = {});
    [[nodiscard]] awaitable<base::result<reply>> json_patch(const resource& of, const location& at, std::string body,
                                                            const write_options& options = {});
    [[nodiscard]] awaitable<base::result<reply>> remove(const resource& of, const location& at,
                                                        const delete_options& options = {});

    // Whether the server serves that resource (a CRD, for instance) in that version.
    [[nodiscard]] awaitable<base::result<bool>> exists(const resource& of, const call_options& with = {});
    // What a group's version serves; nothing if there is no such version.
    [[nodiscard]] awaitable<base::result<std::vector<served_resource>>> discover(std::string_view group,
                                                                                 std::string_view version,
                                                                                 const call_options& with = {});
    [[nodiscard]] awaitable<base::result<server_version>> version(const call_options& with = {});
    [[nodiscard]] awaitable<base::result<access_answer>> may_we(const access_question& question,
                                                                const call_options& with = {});
    [[nodiscard]] awaitable<base::result<token_answer>> review_token(std::string_view token,
                                                                     const std::vector<std::string>& audiences = {},
                                                                     const call_options& with = {});
    // Any other request, with the same care.
    [[nodiscard]] awaitable<base::result<reply>> perform(call what);

    // Dead-peer detection: tighter while leading.
    void set_ping(std::chrono::milliseconds idle, std::chrono::milliseconds answer);
    // Of requests from now on.
    void set_limit(rate_limit limit);
    [[nodiscard]] client_statistics statistics() const;
    [[nodiscard]] const std::string& default_namespace() const;
    // "host:port" of the API server, for people.
    [[nodiscard]] const std::string& server() const;

    // Ends all requests with errc::canceled, watches with errc::lost or canceled, and waits for the requests' ends.
    [[nodiscard]] awaitable<void> stop();

    struct core;

   private:
    explicit client(std::unique_ptr<core> inside);
    [[nodiscard]] awaitable<base::result<reply>> run(base::result<call> what);
    [[nodiscard]] awaitable<base::result<watch_stream>> open_watch(base::result<call> what,
                                                                   std::chrono::seconds timeout);
    [[nodiscard]] awaitable<base::result<std::vector<served_resource>>> ask_served(call what);
    [[nodiscard]] awaitable<base::result<bool>> ask_exists(call what, std::string plural);
    [[nodiscard]] awaitable<base::result<server_version>> ask_version(call what);
    [[nodiscard]] awaitable<base::result<access_answer>> ask_access(call what);
    [[nodiscard]] awaitable<base::result<token_answer>> ask_token(call what);

    std::unique_ptr<core> core_;
};

// What net needs to reach the cluster: peer, names, proxy and TLS.
[[nodiscard]] base::result<net::client_options> wire_options(const cluster_config& cluster, net::client_options wire,
                                                             const auth::tls_material& keys);
[[nodiscard]] base::result<std::shared_ptr<const net::tls::context>> make_tls(const auth::tls_material& keys,
                                                                              bool verify);

}  // namespace cotrain::kube
