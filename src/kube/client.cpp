#include "kube/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <memory>
#include <utility>

#include "base/random.hpp"
#include "base/signal.hpp"
#include "kube/pacing.hpp"
#include "kube/request.hpp"
#include "kube/status.hpp"
#include "net/tcp/proxy.hpp"

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

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// The same text with a life of its own.
std::string_view known(std::string_view method) {
    static constexpr std::array<std::string_view, 5> methods{"GET", "PATCH", "POST", "PUT", "DELETE"};
    const auto* const found = std::ranges::find(methods, method);
    return found == methods.end() ? "other" : *found;
}

bool good(int status) { return status >= 200 && status < 300; }

net::header_list headers_of(const std::string& user_agent, const impersonation& as) {
    net::header_list all{{"user-agent", user_agent}};
    if (as.user.empty()) return all;
    all.push_back({"impersonate-user", as.user});
    if (!as.uid.empty()) all.push_back({"impersonate-uid", as.uid});
    for (const std::string& group : as.groups) all.push_back({"impersonate-group", group});
    for (const auto& [key, value] : as.extra) {
        std::string name = "impersonate-extra-";
        for (const char c : key) name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        std::string escaped;
        append_header_name(escaped, name);
        all.push_back({std::move(escaped), value});
    }
    return all;
}

// What `read` makes of the answer, with the attempt before its error.
template <class T>
base::result<T> read_reply(base::result<reply> got, std::string_view attempt,
                           base::result<T> (*read)(std::string_view body)) {
    if (!got) return base::fail(std::move(got).error());
    auto value = read(got->body);
    if (!value) return base::fail(std::move(value).error().during(attempt));
    return value;
}

}  // namespace

void request_counters::add(std::string_view method, int code) {
    const int shown = code >= 100 && code <= 599 ? code : 0;
    for (request_count& one : counts_) {
        if (one.code != shown || one.method != known(method)) continue;
        ++one.count;
        return;
    }
    counts_.push_back({known(method), shown, 1});
}

base::result<std::shared_ptr<const net::tls::context>> make_tls(const auth::tls_material& keys, bool verify) {
    net::tls::client_options options;
    options.ca_pem = keys.ca_pem;
    options.certificate_pem = keys.certificate_pem;
    options.key_pem = keys.key_pem;
    options.verify = verify;
    return net::tls::context::for_client(options);
}

base::result<net::client_options> wire_options(const cluster_config& cluster, net::client_options wire,
                                               const auth::tls_material& keys) {
    wire.peer = {cluster.host, cluster.port};
    wire.scheme = cluster.scheme;
    wire.server_name = cluster.tls_server_name;
    if (!cluster.proxy_url.empty()) {
        auto proxy = net::tcp::parse_proxy(cluster.proxy_url);
        if (!proxy) return base::fail(std::move(proxy).error().during("proxy-url"));
        wire.connect.via = std::move(*proxy);
    } else if (cluster.scheme == "https") {
        auto proxy = net::tcp::proxy_for(cluster.host, cluster.port, cluster.https_proxy, cluster.no_proxy);
        if (!proxy) return base::fail(std::move(proxy).error());
        wire.connect.via = std::move(*proxy);
    }
    wire.tls.reset();
    if (cluster.scheme != "https") return wire;
    auto tls = make_tls(keys, !cluster.insecure);
    if (!tls) return base::fail(std::move(tls).error());
    wire.tls = std::move(*tls);
    return wire;
}

client::core::core(asio::any_io_executor run_on, client_options given, std::unique_ptr<auth::keeper> credentials,
                   net::client_options wire, const cluster_config& cluster, base::logger& to)
    : options(std::move(given)),
      log(to),
      ns(cluster.ns),
      server((cluster.host.contains(':') ? "[" + cluster.host + "]" : cluster.host) + ":" +
             std::to_string(cluster.port)),
      keeper_(std::move(credentials)),
      tls_version_(keeper_->tls().version),
      secure_(cluster.scheme == "https"),
      verify_(!cluster.insecure),
      base_path_(cluster.base_path),
      every_request_(headers_of(options.user_agent, cluster.user.as)),
      limiter_(options.limit),
      warnings_(to),
      wire_(run_on, std::move(wire), to) {}

struct client::core::in_flight {
    core& of;
    explicit in_flight(core& c) : of(c) { ++of.running_; }
    ~in_flight() {
        if (--of.running_ == 0 && of.stopping_) of.idle_.notify_later();
    }
    in_flight(const in_flight&) = delete;
    in_flight& operator=(const in_flight&) = delete;
};

void client::core::dress(net::request& http) const {
    if (!base_path_.empty()) http.path.insert(0, base_path_);
    http.headers.insert(http.headers.end(), every_request_.begin(), every_request_.end());
}

struct client::core::attempts {
    time_point due;
    retry_state tried{};
    std::uint64_t used = 0;  // the version of the credentials that the last one carried
};

template <class Answer>
awaitable<base::result<Answer>> client::core::perform(base::result<call> asked) {
    if (!asked) co_return base::fail(std::move(asked).error());
    const in_flight mark(*this);
    call& what = *asked;
    net::request& http = what.http;
    attempts so_far{
        std::min(clock::now() + (http.deadline.count() > 0 ? http.deadline : options.deadline), http.latest)};
    dress(http);
    for (;;) {
        if (stopping_) co_return base::fail(base::errc::canceled, what.attempt + ": the client stops");
        base::result<Answer> outcome(std::unexpect);
        base::result<auth::grant> waited;
        const auth::grant* grant = admitted(http.rank);
        if (grant == nullptr) {
            waited = co_await admit(http.rank, so_far.due);
            grant = waited ? &*waited : nullptr;
        }
        http.deadline = std::chrono::duration_cast<milliseconds>(so_far.due - clock::now());
        if (grant == nullptr) {
            outcome = base::fail(std::move(waited).error().during(what.attempt));
        } else if (http.deadline.count() <= 0) {
            outcome = base::fail(base::errc::deadline, what.attempt + ": its deadline passed before it could be sent");
        } else {
            so_far.used = grant->version;
            follow_tls();
            const bool named = !grant->authorization.empty();
            if (named) http.headers.push_back({"authorization", grant->authorization, true});
            if constexpr (std::same_as<Answer, reply>) {
                auto got = co_await wire_.send(std::move(http), &http);
                outcome = judge(what, std::move(got));
            } else {
                outcome = co_await open(&what, so_far.due);
            }
            if (named) http.headers.pop_back();
        }
        if (outcome) co_return outcome;
        if (!co_await go_again(&what, &so_far, &outcome.error())) co_return outcome;
    }
}

template awaitable<base::result<reply>> client::core::perform(base::result<call>);
template awaitable<base::result<net::body_stream>> client::core::perform(base::result<call>);

awaitable<bool> client::core::go_again(const call* what, attempts* so_far, base::error* why) {
    const auto left = std::chrono::duration_cast<milliseconds>(so_far->due - clock::now());
    const next_step next =
        after_failure(options.retry, so_far->tried, *why, what->http.idempotent, left, random_.unit());
    if (next.what == verdict::give_up) co_return false;
    // stop() has woken everybody who waited: nobody may begin to wait after it.
    if (stopping_) co_return true;
    if (next.what == verdict::renew) {
        auto renewed = co_await renew(why->code == base::errc::tls, so_far->used, so_far->due);
        const bool changed = renewed && *renewed;
        if (!renewed) *why = std::move(renewed).error().during(why->message);
        if (changed) ++retries_;
        co_return changed;
    }
    const bool slept = co_await pauses_.until(clock::now() + next.wait) == sleepers::outcome::slept;
    if (slept) {
        ++retries_;
    } else {
        *why = base::make_error(base::errc::canceled, what->attempt + ": given up between attempts");
    }
    co_return slept;
}

const auth::grant* client::core::admitted(net::priority rank) {
    return limiter_.open(rank) ? keeper_->current(clock::now()) : nullptr;
}

awaitable<base::result<auth::grant>> client::core::admit(net::priority rank, time_point due) {
    if (!limiter_.open(rank))
        if (auto ok = co_await limiter_.admit(rank, due); !ok) co_return base::fail(std::move(ok).error());
    if (const auth::grant* ready = keeper_->current(clock::now()); ready != nullptr) co_return *ready;
    co_return co_await keeper_->get(clock::now(), due);
}

base::result<reply> client::core::judge(const call& what, base::result<net::response> got) {
    requests_.add(what.http.method, got ? got->status : 0);
    if (!got) return base::fail(std::move(got).error().during(what.attempt));
    warnings_.note(got->headers, what.attempt);
    if (!good(got->status)) return base::fail(status_error(what.attempt, got->status, got->headers, got->body));
    return reply{got->status, std::move(got->body)};
}

awaitable<base::result<net::body_stream>> client::core::open(const call* what, time_point due) {
    auto got = co_await wire_.open(what->http);
    requests_.add(what->http.method, got ? got->status() : 0);
    if (!got) co_return base::fail(std::move(got).error().during(what->attempt));
    warnings_.note(got->headers(), what->attempt);
    if (good(got->status())) co_return got;
    got->end_by(due);
    const auto body = co_await got->read_all(status_bytes_max);
    co_return base::fail(status_error(what->attempt, got->status(), got->headers(), body ? *body : std::string()));
}

awaitable<base::result<bool>> client::core::renew(bool tls, std::uint64_t rejected, time_point due) {
    if (!tls) {
        auto changed = co_await keeper_->renew(rejected, clock::now(), due);
        if (changed && *changed) ++renewals_;
        co_return changed;
    }
    keeper_->look_again(clock::now());
    co_return keeper_->tls().version != tls_version_;
}

void client::core::follow_tls() {
    const auth::tls_material& keys = keeper_->tls();
    if (!secure_ || keys.version == tls_version_) return;
    tls_version_ = keys.version;
    auto fresh = make_tls(keys, verify_);
    if (fresh) {
        log.info("certificates changed: new connections use them");
        wire_.use_tls(std::move(*fresh));
        return;
    }
    // A pair that is being replaced does not match for a moment; the next look finds the rest.
    log.warn("changed certificates cannot be used, the last ones stay in use", {{"error", fresh.error().message}});
}

client_statistics client::core::statistics() const {
    return {limiter_.stats(), requests_.all(), retries_, renewals_, wire_.counters()};
}

awaitable<void> client::core::stop() {
    stopping_ = true;
    limiter_.stop();
    pauses_.wake_all();
    co_await keeper_->stop();
    co_await wire_.stop();
    while (running_ != 0) co_await idle_.wait();
}

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

awaitable<base::result<std::vector<served_resource>>> client::ask_served(call what) {
    const std::string attempt = what.attempt;
    auto got = co_await run(std::move(what));
    // An unknown group or version is a plain 404 page, without a Status.
    if (!got && got.error().http_status == 404) co_return std::vector<served_resource>{};
    co_return read_reply(std::move(got), attempt, &read_served_resources);
}

awaitable<base::result<bool>> client::ask_exists(call what, std::string plural) {
    auto served = co_await ask_served(std::move(what));
    if (!served) co_return base::fail(std::move(served).error());
    co_return std::ranges::find(*served, plural, &served_resource::name) != served->end();
}

awaitable<base::result<server_version>> client::ask_version(call what) {
    const std::string attempt = what.attempt;
    co_return read_reply(co_await run(std::move(what)), attempt, &read_server_version);
}

awaitable<base::result<access_answer>> client::ask_access(call what) {
    const std::string attempt = what.attempt;
    co_return read_reply(co_await run(std::move(what)), attempt, &read_access_review);
}

awaitable<base::result<token_answer>> client::ask_token(call what) {
    const std::string attempt = what.attempt;
    co_return read_reply(co_await run(std::move(what)), attempt, &read_token_review);
}

awaitable<base::result<bool>> client::exists(const resource& of, const call_options& with) {
    return ask_exists(build_discovery(of.group, of.version, with), std::string(of.plural));
}

awaitable<base::result<std::vector<served_resource>>> client::discover(std::string_view group, std::string_view version,
                                                                       const call_options& with) {
    return ask_served(build_discovery(group, version, with));
}

awaitable<base::result<server_version>> client::version(const call_options& with) {
    return ask_version(build_server_version(with));
}

awaitable<base::result<access_answer>> client::may_we(const access_question& question, const call_options& with) {
    return ask_access(build_access_review(question, with));
}

awaitable<base::result<token_answer>> client::review_token(std::string_view token,
                                                           const std::vector<std::string>& audiences,
                                                           const call_options& with) {
    return ask_token(build_token_review(token, audiences, with));
}

}  // namespace cotrain::kube
