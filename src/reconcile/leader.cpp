// The coroutine around an election, and what a Lease looks like.
#include "reconcile/leader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/lease.hpp"
#include "api/names.hpp"
#include "base/backoff.hpp"
#include "base/contain.hpp"
#include "doc/json.hpp"

namespace cotrain::reconcile {

namespace {

using clock = std::chrono::steady_clock;

constexpr kube::resource leases{api::names::lease.group, api::names::lease.version, api::names::lease.plural,
                                api::names::lease.kind};

constexpr std::chrono::minutes same_trouble_again{1};

// Between two watches of the Lease; where we may not watch it, rights may still come.
constexpr base::backoff_policy watch_retry{std::chrono::milliseconds(250), std::chrono::milliseconds(4'000), 2.0, 0.5};
constexpr base::backoff_policy watch_denied{std::chrono::minutes(1), std::chrono::minutes(10), 2.0, 0.5};
constexpr int forbidden = 403;

wall_micros wall_now() { return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()); }

}  // namespace

std::string make_identity(std::string_view host, base::random_source& random) {
    const std::uint64_t a = random.next();
    const std::uint64_t b = random.next();
    return fmt::format("{}_{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", host, a >> 32U, (a >> 16U) & 0xffffU, a & 0xfffU,
                       0x8000U | (b >> 50U), b & 0xffff'ffff'ffffU);
}

leader::leader(const leader_tools& tools, leader_options options, std::function<void(bool)> on_change)
    : owner_(tools.owner),
      api_(tools.api),
      random_(tools.random),
      log_(tools.log),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      election_(options_.identity, options_.timing),
      timer_(tools.owner.executor()) {}

void leader::start() {
    started_ = true;
    owner_.spawn("leader election", run());
}

bool leader::leading() const { return announced_ && !stopping_ && election_.leading(clock::now()); }

std::optional<write_permit> leader::may_write() const {
    const auto time = announced_ && !stopping_ ? election_.write_time(clock::now()) : std::nullopt;
    return time ? std::optional<write_permit>({*time, election_.leading_until()}) : std::nullopt;
}

awaitable<bool> leader::acquired() {
    while (!leading() && !ended_ && !stopping_)
        if (co_await waiting_.until(moment::max()) == kube::sleepers::outcome::cancelled) co_return false;
    co_return leading();
}

awaitable<bool> leader::stop(std::chrono::milliseconds patience) {
    stopping_ = true;
    stop_by_ = clock::now() + patience;
    election_.stop();
    announce();
    timer_.cancel();
    while (started_ && !ended_ && clock::now() < stop_by_)
        if (co_await waiting_.until(stop_by_) == kube::sleepers::outcome::cancelled) break;
    co_return ended_&& election_.state() == election::role::released&& election_.holder() != options_.identity;
}

void leader::leave() {
    stopping_ = true;
    election_.leave();
    announce();
    timer_.cancel();
}

awaitable<void> leader::run() {
    for (;;) {
        auto todo = election_.next(clock::now(), wall_now(), random_);
        announce();
        if (todo.what == election::ask::end) {
            ended_ = true;
            waiting_.wake_all();
            co_return;
        }
        const bool reads = todo.what == election::ask::read;
        std::string mistake;
        try {
            co_await perform(std::move(todo));
        } catch (...) {
            mistake = base::caught();
        }
        if (!mistake.empty()) made_mistake(mistake, reads);
        if ((co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none) co_return;
    }
}

awaitable<void> leader::perform(election::action what) {
    switch (what.what) {
        case election::ask::read: co_await read(what.until); break;
        case election::ask::create:
        case election::ask::update: co_await write(std::move(what)); break;
        case election::ask::wait:
            timer_.expires_at(what.until);
            co_await timer_.async_wait(use_tuple);
            break;
        case election::ask::answer:
        case election::ask::end: break;
    }
}

// An attempt without a known outcome: it is repeated like others, and who cannot renew in time leads no more.
void leader::made_mistake(std::string_view what, bool reads) {
    log_.error("unexpected exception", {{"in", "leader election"}, {"lease", options_.name}, {"error", what}});
    if (!election_.under_way()) return;
    ++failures_;
    reads ? election_.read_failed(clock::now()) : election_.write_failed(clock::now());
}

// Begins at the version that we wrote last, so that nothing older is heard. Without the right to watch, a deletion is
// noticed at the next renewal.
awaitable<void> leader::follow() {
    asio::steady_timer pause(owner_.executor());
    base::backoff retry(watch_retry);
    base::backoff denied(watch_denied);
    const std::string selector = "metadata.name=" + options_.name;
    while (announced_) {
        auto stream = co_await api_.watch(leases, options_.ns,
                                          {.field_selector = selector, .resource_version = election_.version()});
        const bool may_not = !stream && stream.error().http_status == forbidden;
        if (may_not && denied.attempts() == 0)
            log_.warn("cannot watch the Lease, its deletion is noticed at the next renewal",
                      {{"lease", options_.name}, {"error", stream.error().message}});
        while (stream && announced_) {
            const auto event = co_await stream->next();
            if (!event || !*event) break;
            retry.reset();
            heard(**event);
        }
        pause.expires_after(may_not ? denied.next(random_) : retry.next(random_));
        co_await pause.async_wait(use_tuple);
    }
}

void leader::heard(std::string_view event) {
    doc::arena memory;
    const auto said = doc::parse_json(memory, event);
    if (!said) return;
    const std::string_view type = said->get("type").as_string();
    if (type == "DELETED") {
        election_.watched(std::nullopt);
    } else if (type == "ADDED" || type == "MODIFIED") {
        const auto seen = api::decode_lease(said->get("object"));
        if (!seen) return;
        election_.watched(lease_record{.holder = std::string(seen->holder)});
    }
    if (!lost() || !announced_) return;
    log_.warn("another client deleted or took the Lease",
              {{"lease", options_.name}, {"event", type}, {"holder", holder()}});
    announce();
    timer_.cancel();
}

kube::call_options leader::with(moment until) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(until, stop_by_) - clock::now());
    return {net::priority::lease, std::max(left, std::chrono::milliseconds(1))};
}

awaitable<void> leader::read(moment until) {
    auto got = co_await api_.get(leases, {options_.ns, options_.name}, {.with = with(until)});
    if (!got && got.error().http_status == 404) co_return election_.read_done(std::nullopt, clock::now());
    auto seen = got ? understand(std::move(got->body)) : base::fail(std::move(got).error());
    if (seen) co_return election_.read_done(std::move(*seen), clock::now());
    failed(seen.error());
    election_.read_failed(clock::now());
}

awaitable<void> leader::write(election::action what) {
    const bool create = what.what == election::ask::create;
    if (create) document_.clear();
    std::string body = document_of(what.lease);
    const kube::write_options options{.with = with(what.until)};
    base::result<kube::reply> got;
    if (create)
        got = co_await api_.create(leases, options_.ns, std::move(body), options);
    else
        got = co_await api_.update(leases, {options_.ns, options_.name}, std::move(body), options);
    // Gone or there meanwhile, or changed by somebody, who may have been us in an attempt without answer.
    const int refusal = got ? 0 : got.error().http_status;
    if (refusal == 409 || (refusal == 404 && !create)) co_return election_.write_conflict(clock::now());
    auto stored = got ? understand(std::move(got->body)) : base::fail(std::move(got).error());
    if (stored) co_return election_.write_done(std::move(*stored), clock::now());
    failed(stored.error());
    election_.write_failed(clock::now());
}

std::string leader::document_of(const lease_record& lease) const {
    doc::arena memory;
    api::lease out;
    if (!document_.empty())
        if (const auto seen = doc::parse_json(memory, document_)) out.document = *seen;
    out.meta.name = options_.name;
    out.meta.ns = options_.ns;
    out.meta.resource_version = lease.resource_version;
    out.holder = lease.holder;
    out.duration_seconds = lease.duration_seconds;
    out.acquire_time = lease.acquire_time;
    out.renew_time = lease.renew_time;
    out.transitions = lease.transitions;
    return doc::to_json(api::encode_lease(memory, out));
}

base::result<lease_record> leader::understand(std::string body) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, body);
    if (!document) return base::fail(base::error(document.error()).during("Lease"));
    const auto seen = api::decode_lease(*document);
    if (!seen) return base::fail(seen.error());
    lease_record out;
    out.holder = seen->holder;
    out.duration_seconds = seen->duration_seconds;
    out.acquire_time = seen->acquire_time.value_or(wall_micros{});
    out.renew_time = seen->renew_time.value_or(wall_micros{});
    out.transitions = seen->transitions;
    out.resource_version = seen->meta.resource_version;
    document_ = std::move(body);
    trouble_.clear();
    if (out.holder != known_holder_) {
        known_holder_ = out.holder;
        log_.info("Lease holder changed", {{"lease", options_.name}, {"holder", known_holder_}});
    }
    return out;
}

void leader::failed(const base::error& why) {
    ++failures_;
    // It is tried every few seconds, for as long as a right is missing.
    const moment now = clock::now();
    if (why.message == trouble_ && now - told_ < same_trouble_again) return;
    trouble_ = why.message;
    told_ = now;
    log_.write(why.http_status == forbidden ? base::level::error : base::level::warn, "cannot read or update the Lease",
               {{"lease", options_.name}, {"error", why.message}});
}

// Every change of who may write is told once, by the task that notices it first.
void leader::announce() {
    const bool now = !stopping_ && election_.leading(clock::now());
    if (now == announced_) return;
    announced_ = now;
    if (now) {
        // A dead connection has to be found while there is time for a renewal on another.
        const auto quarter = options_.timing.renew_deadline / 4;
        api_.set_ping(quarter, quarter);
        log_.info("became leader", {{"lease", options_.name}, {"identity", options_.identity}});
        owner_.supervise("lease watch", [this] { return follow(); }, log_);
    } else {
        log_.write(stopping_ ? base::level::info : base::level::error, "stopped leading",
                   {{"lease", options_.name}, {"holder", election_.holder()}});
    }
    waiting_.wake_all();
    try {
        if (on_change_) on_change_(now);
    } catch (...) {
        log_.error("unexpected exception",
                   {{"in", "change of leaders"}, {"lease", options_.name}, {"error", base::caught()}});
    }
}

}  // namespace cotrain::reconcile
