// Carries questions and answers between the wire, the cluster and its webhooks.
#include "sim/server.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "sim/failure.hpp"
#include "sim/relay.hpp"

namespace cotrain::sim {
namespace {

api::seconds_time now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

net::header_list headers_of(std::string_view content_type) {
    return {{"content-type", std::string{content_type}}, {"cache-control", "no-cache, private"}};
}

// What warnings may hold in a header: no quotes, no control bytes.
std::string header_text(std::string_view text) {
    std::string out = "299 - \"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + '"';
}

question to_question(const net::incoming& in) {
    const net::h2::head& head = in.head();
    return {.method = head.method,
            .target = head.path,
            .accept = net::find_header(head.headers, "accept"),
            .content_type = net::find_header(head.headers, "content-type"),
            .user_agent = net::find_header(head.headers, "user-agent"),
            .body = in.body()};
}

std::string_view bearer_of(const net::incoming& in) {
    const std::string_view value = net::find_header(in.head().headers, "authorization");
    constexpr std::string_view scheme = "Bearer ";
    return value.starts_with(scheme) ? value.substr(scheme.size()) : std::string_view{};
}

const caller& everybody() {
    static const caller out{"cotrain", {"system:masters", "system:authenticated"}};
    return out;
}

}  // namespace

// A watch's place in the server's list, for as long as it lives.
struct server::open_watch {
    explicit open_watch(server& of)
        : wake(of.executor_), owner(of), place(of.watches_.insert(of.watches_.end(), this)) {
        ++owner.counters_.watches;
        ++owner.counters_.watches_open;
    }
    ~open_watch() {
        *open = false;
        owner.watches_.erase(place);
        --owner.counters_.watches_open;
    }
    open_watch(const open_watch&) = delete;
    open_watch& operator=(const open_watch&) = delete;

    asio::steady_timer wake;  // cancelled when there is something to look at
    std::shared_ptr<bool> open = std::make_shared<bool>(true);
    server& owner;
    std::list<open_watch*>::iterator place;
};

namespace {

// With a relay before it, the server itself takes any port.
net::server_options behind_relay(const server_config& config) {
    net::server_options out = config.wire;
    const auto silent = [](const fault_rule& each) { return each.action == fault_action::freeze; };
    if (std::ranges::any_of(config.faults, silent)) out.port = 0;
    return out;
}

}  // namespace

net::server_options api_server_wire() {
    net::server_options out;
    out.limits.peer_streams_max = 128;
    out.limits.header_list_bytes_max = 64U << 10U;
    out.connections_max = out.connections_per_source_max = 1024;
    return out;
}

server::server(asio::any_io_executor executor, cluster& of, server_config config, base::logger& log)
    : cluster_(of),
      executor_(executor),
      closed_(config.closed),
      told_(std::move(config.told)),
      on_change_(std::move(config.changed)),
      faults_(config.faults, config.fault_seed),
      hooks_(executor, std::move(config.services), log),
      tasks_(executor),
      wire_(executor, behind_relay(config), [this](net::incoming in) { return handle(std::move(in)); }, log) {
    if (faults_.uses(fault_action::freeze)) relay_ = std::make_unique<relay>(executor);
    if (relay_) {
        relay_address_ = config.wire.address;
        relay_port_ = config.wire.port;
    }
    tasks_.spawn("garbage collector", collect_loop());
}

server::~server() = default;

base::result<> server::start() {
    if (auto begun = wire_.start(); !begun || !relay_) return begun;
    return relay_->start(relay_address_, relay_port_, wire_.port());
}

std::uint16_t server::port() const { return relay_ ? relay_->port() : wire_.port(); }

void server::changed() {
    for (open_watch* const each : watches_) each->wake.cancel();
    garbage_.notify_later();
    if (on_change_) on_change_();
}

awaitable<void> server::collect_loop() {
    while (co_await garbage_.wait()) {
        bool more = true;
        while (more) {
            const std::uint64_t before = cluster_.objects().version();
            for (int i = 0; more && i < collect_steps_max; ++i) more = cluster_.collect(now());
            if (cluster_.objects().version() != before) {
                for (open_watch* const each : watches_) each->wake.cancel();
                if (on_change_) on_change_();
            }
            co_await asio::post(executor_, asio::use_awaitable);
        }
    }
}

awaitable<response> server::work_out(net::incoming in) {
    const api::seconds_time time = now();
    admission_talk talk{.who = everybody()};
    if (const auto known = cluster_.tokens().find(bearer_of(in)); known != cluster_.tokens().end()) {
        talk.who = known->second;
    } else if (closed_ && in.head().path != "/healthz" && in.head().path != "/readyz") {
        const failure why{401, "Unauthorized", "Unauthorized"};
        co_return answer{why.code, to_status(why)};
    }
    const question what = to_question(in);
    for (;;) {
        response said = ask(cluster_, what, time, &talk);
        const auto* const hook = std::get_if<hook_call>(&said);
        if (hook == nullptr) co_return said;
        talk.answer(co_await hooks_.call(*hook));
    }
}

void server::reply(net::incoming& in, const answer& whole) {
    net::header_list headers = headers_of(whole.content_type);
    for (const std::string& warning : whole.warnings) headers.push_back({"warning", header_text(warning)});
    if (whole.retry_after_seconds > 0) headers.push_back({"retry-after", std::to_string(whole.retry_after_seconds)});
    in.respond(whole.status, std::move(headers), whole.body);
}

awaitable<void> server::handle(net::incoming in) {
    ++counters_.requests;
    const fault_rule* struck = nullptr;
    if (!faults_.empty()) {
        const request_name name = name_request(in.head().method, in.head().path);
        const faults::verdict verdict = faults_.judge(name.verb, name.resource);
        struck = verdict.rule;
        if (verdict.delay.count() > 0) {
            asio::steady_timer timer(executor_, verdict.delay);
            co_await timer.async_wait(use_tuple);
        }
    }
    co_await serve(std::move(in), struck);
}

awaitable<void> server::serve(net::incoming in, const fault_rule* fault) {
    const auto begun = std::chrono::steady_clock::now();
    const auto strikes = [&](fault_action what) { return fault != nullptr && fault->action == what; };
    response said = answer{};
    if (strikes(fault_action::status)) {
        const failure why{fault->code, fault->code == 429 ? "TooManyRequests" : "InternalError", "a fault by script"};
        said = answer{.status = why.code, .body = to_status(why), .retry_after_seconds = fault->retry_after_seconds};
    } else {
        const std::uint64_t before = cluster_.objects().version();
        said = co_await work_out(in);
        if (cluster_.objects().version() != before) changed();
    }
    const bool expires = strikes(fault_action::expire);
    if (expires && std::holds_alternative<answer>(said)) {
        const failure why = expired("a fault by script: too old resource version");
        said = answer{.status = why.code, .body = to_status(why)};
    }
    if (const auto* const whole = std::get_if<answer>(&said); told_) {
        const request_name name = name_request(in.head().method, in.head().path);
        told_({.verb = name.verb,
               .resource = name.resource,
               .path = in.head().path,
               .user_agent = net::find_header(in.head().headers, "user-agent"),
               .status = whole != nullptr ? whole->status : 200,
               .bytes_in = in.body().size(),
               .bytes_out = whole != nullptr ? whole->body.size() : 0,
               .took = std::chrono::steady_clock::now() - begun});
    }
    if (strikes(fault_action::drop)) {
        wire_.drop_connections();
        co_return;
    }
    if (strikes(fault_action::freeze)) relay_->freeze();
    if (strikes(fault_action::hang)) {
        co_await in.until_gone();
        co_return;
    }
    if (auto* const whole = std::get_if<answer>(&said)) {
        reply(in, *whole);
    } else if (stopping_ || watches_.size() >= watches_max) {
        reply(in, {.status = 429,
                   .body = to_status({429, "TooManyRequests", "too many watches are open, please try again later"}),
                   .retry_after_seconds = 1});
    } else {
        if (strikes(fault_action::goaway)) wire_.shutdown_connections();
        co_await stream(std::move(in), std::move(std::get<opened_watch>(said)), expires);
        co_return;
    }
    if (strikes(fault_action::goaway)) wire_.shutdown_connections();
}

awaitable<bool> server::drain(net::incoming in, watcher* events, event_faults* through) {
    std::string lines;
    bool more = true;
    while (more && !stopping_) {
        lines.clear();
        while (more && lines.size() < watch_write_bytes) {
            auto line = events->next(now());
            more = line.has_value();
            if (more && through != nullptr) {
                through->pass(std::move(*line), lines);
            } else if (more) {
                lines += *line;
            }
        }
        if (!more && through != nullptr) through->flush(lines);
        if (lines.empty()) break;
        counters_.watch_bytes += lines.size();
        if (!co_await in.write(lines)) co_return false;
    }
    co_return !events->over() && !stopping_;
}

namespace {

// Wakes a watch whose peer has left.
awaitable<void> notice_end(net::incoming in, std::shared_ptr<bool> open, asio::steady_timer* wake) {
    co_await in.until_gone();
    if (*open) wake->cancel();
}

}  // namespace

awaitable<void> server::stream(net::incoming in, opened_watch what, bool expires) {
    in.begin(200, headers_of(what.content_type));
    if (expires) {
        const std::string status = to_status(expired("a fault by script: too old resource version"));
        static_cast<void>(co_await in.write("{\"type\":\"ERROR\",\"object\":" + status + "}\n"));
        in.finish();
        co_return;
    }
    event_faults trouble(faults_, what.wish.of->plural);
    event_faults* const through = faults_.empty() ? nullptr : &trouble;
    watcher events(cluster_, std::move(what.wish));
    open_watch self(*this);
    tasks_.spawn("end of a watch", notice_end(in, self.open, &self.wake));
    const auto end = std::chrono::steady_clock::now() + what.timeout;
    auto bookmark_due = std::chrono::steady_clock::now() + bookmark_interval;
    while (co_await drain(in, &events, through)) {
        const auto time = std::chrono::steady_clock::now();
        if (in.gone() || time >= end) break;
        if (time >= bookmark_due) {
            bookmark_due = time + bookmark_interval;
            if (const auto line = events.bookmark(); line && !co_await in.write(*line)) break;
            continue;
        }
        // Nothing can have happened since drain() saw the end of history: no wait lies between.
        self.wake.expires_at(std::min(end, bookmark_due));
        co_await self.wake.async_wait(use_tuple);
    }
    in.finish();
}

awaitable<void> server::stop() {
    stopping_ = true;
    for (open_watch* const each : watches_) each->wake.cancel();
    co_await wire_.stop();
    if (relay_) co_await relay_->stop();
    co_await hooks_.stop();
    tasks_.cancel();
    co_await tasks_.join();
}

}  // namespace cotrain::sim
