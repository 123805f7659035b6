// The attempts of one request: throttle, credentials, sending, judging, repeating.
#include "kube/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <utility>

#include "kube/percent.hpp"
#include "kube/status.hpp"

namespace cotrain::kube {

namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

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

}  // namespace

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

}  // namespace cotrain::kube
