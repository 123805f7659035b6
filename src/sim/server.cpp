#include "sim/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/task_group.hpp"
#include "sim/failure.hpp"

namespace cotrain::sim {

inline constexpr std::size_t relay_buffer_bytes = 64UL * 1024;

class relay {
   public:
    explicit relay(asio::any_io_executor executor);

    [[nodiscard]] base::result<> start(const std::string& address, std::uint16_t port, std::uint16_t target);
    [[nodiscard]] std::uint16_t port() const { return port_; }
    // Connections of now stay open and move no byte any more. New ones work.
    void freeze();
    [[nodiscard]] awaitable<void> stop();

   private:
    struct link;
    [[nodiscard]] awaitable<void> accept();
    [[nodiscard]] awaitable<void> join(std::shared_ptr<link> of);
    [[nodiscard]] static awaitable<void> pump(std::shared_ptr<link> of, bool up);

    asio::any_io_executor executor_;
    asio::ip::tcp::acceptor acceptor_;
    std::uint16_t port_ = 0;
    std::uint16_t target_ = 0;
    std::list<std::weak_ptr<link>> links_;
    base::task_group tasks_;
};

using asio::ip::tcp;

namespace {

base::seconds_time now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

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

// Who a certificate is for: "O=system:masters,CN=admin".
caller read_subject(std::string_view subject) {
    caller out{.name = "", .groups = {"system:authenticated"}};
    while (!subject.empty()) {
        const std::string_view part = subject.substr(0, subject.find_first_of(",+"));
        subject.remove_prefix(std::min(part.size() + 1, subject.size()));
        if (part.starts_with("CN=")) out.name = part.substr(3);
        if (part.starts_with("O=")) out.groups.emplace_back(part.substr(2));
    }
    return out;
}

// What is told to those whom nobody knows.
bool is_open_path(std::string_view path) {
    const std::string_view first = path.substr(0, path.find_first_of("/?", 1));
    return first == "/healthz" || first == "/readyz" || first == "/livez" || first == "/version";
}

const caller& everybody() {
    static const caller out{"cotrain", {"system:masters", "system:authenticated"}};
    return out;
}

// With a relay before it, the server itself takes any port.
net::server_options behind_relay(const server_config& config) {
    net::server_options out = config.wire;
    const auto silent = [](const fault_rule& each) { return each.action == fault_action::freeze; };
    if (std::ranges::any_of(config.faults, silent)) out.port = 0;
    return out;
}

// Wakes a watch whose peer has left.
awaitable<void> notice_end(net::incoming in, std::shared_ptr<bool> open, asio::steady_timer* wake) {
    co_await in.until_gone();
    if (*open) wake->cancel();
}

}  // namespace

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

struct relay::link {
    explicit link(tcp::socket from) : near(std::move(from)), far(near.get_executor()) {}
    tcp::socket near;
    tcp::socket far;
    bool frozen = false;
};

relay::relay(asio::any_io_executor executor) : executor_(executor), acceptor_(executor), tasks_(executor) {}

base::result<> relay::start(const std::string& address, std::uint16_t port, std::uint16_t target) {
    boost::system::error_code error;
    const auto where = asio::ip::make_address(address.empty() ? "127.0.0.1" : address, error);
    const tcp::endpoint at{where, port};
    if (!error) acceptor_.open(at.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(at, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return base::fail(base::errc::connect, "listen on " + address + ": " + error.message());
    port_ = acceptor_.local_endpoint().port();
    target_ = target;
    tasks_.spawn("relay", accept());
    return {};
}

awaitable<void> relay::accept() {
    for (;;) {
        auto [error, socket] = co_await acceptor_.async_accept(use_tuple);
        if (error == asio::error::operation_aborted) co_return;
        if (error) continue;
        std::erase_if(links_, [](const std::weak_ptr<link>& each) { return each.expired(); });
        auto made = std::make_shared<link>(std::move(socket));
        links_.push_back(made);
        tasks_.spawn("relayed connection", join(std::move(made)));
    }
}

awaitable<void> relay::join(std::shared_ptr<link> of) {
    const tcp::endpoint target{asio::ip::address_v4::loopback(), target_};
    if (const auto [error] = co_await of->far.async_connect(target, use_tuple); error) co_return;
    boost::system::error_code ignored;
    of->near.set_option(tcp::no_delay(true), ignored);
    of->far.set_option(tcp::no_delay(true), ignored);
    tasks_.spawn("answers of a connection", pump(of, false));
    co_await pump(of, true);
}

awaitable<void> relay::pump(std::shared_ptr<link> of, bool up) {
    tcp::socket& from = up ? of->near : of->far;
    tcp::socket& to = up ? of->far : of->near;
    std::vector<char> buffer(relay_buffer_bytes);
    for (;;) {
        const auto [error, n] = co_await from.async_read_some(asio::buffer(buffer), use_tuple);
        if (error) break;
        // What is read from a frozen connection is lost: its peer must hear nothing, and not learn that either.
        if (of->frozen) continue;
        if (const auto [failed, m] = co_await asio::async_write(to, asio::buffer(buffer.data(), n), use_tuple); failed)
            break;
    }
    // The peer of a frozen connection keeps its end until it lets go by itself.
    if (of->frozen && !up) co_return;
    boost::system::error_code ignored;
    of->near.close(ignored);
    of->far.close(ignored);
}

void relay::freeze() {
    for (const auto& each : links_) {
        if (const auto held = each.lock()) held->frozen = true;
    }
}

awaitable<void> relay::stop() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    tasks_.cancel();
    co_await tasks_.join();
}

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
      collects_(config.collects),
      spared_agent_(std::move(config.spared_agent)),
      on_request_(std::move(config.on_request)),
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
    if (collects_) tasks_.spawn("garbage collector", collect_loop());
}

server::~server() = default;

base::result<> server::start() {
    if (auto begun = wire_.start(); !begun || !relay_) return begun;
    return relay_->start(relay_address_, relay_port_, wire_.port());
}

std::uint16_t server::port() const { return relay_ ? relay_->port() : wire_.port(); }

void server::changed() {
    for (open_watch* const each : watches_) each->wake.cancel();
    if (collects_) {
        garbage_.notify_later();
    } else {
        cluster_.leave_garbage();
    }
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

awaitable<response> server::work_out(net::incoming in, bool* wrote) {
    const base::seconds_time time = now();
    admission_talk talk{.who = everybody()};
    if (const auto known = cluster_.tokens().find(bearer_of(in)); known != cluster_.tokens().end()) {
        talk.who = known->second;
    } else if (const std::string subject = in.peer_subject(); !subject.empty()) {
        talk.who = read_subject(subject);
    } else if (closed_ && !is_open_path(in.head().path)) {
        const failure why{401, "Unauthorized", "Unauthorized"};
        co_return answer{why.code, to_status(why)};
    }
    const question what = to_question(in);
    for (;;) {
        const std::uint64_t before = cluster_.objects().version();
        response said = ask(cluster_, what, time, &talk);
        *wrote = cluster_.objects().version() != before;
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

bool server::is_spared(const net::incoming& in) const {
    return !spared_agent_.empty() && net::find_header(in.head().headers, "user-agent").starts_with(spared_agent_);
}

awaitable<void> server::handle(net::incoming in) {
    ++counters_.requests;
    const fault_rule* struck = nullptr;
    if (!faults_.empty() && !is_spared(in)) {
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
    bool wrote = false;
    if (strikes(fault_action::status)) {
        const failure why{fault->code, fault->code == 429 ? "TooManyRequests" : "InternalError", "a fault by script"};
        said = answer{.status = why.code, .body = to_status(why), .retry_after_seconds = fault->retry_after_seconds};
    } else {
        said = co_await work_out(in, &wrote);
        if (wrote) changed();
    }
    const bool expires = strikes(fault_action::expire);
    if (expires && std::holds_alternative<answer>(said)) {
        const failure why = expired("a fault by script: too old resource version");
        said = answer{.status = why.code, .body = to_status(why)};
    }
    if (const auto* const whole = std::get_if<answer>(&said); on_request_) {
        const request_name name = name_request(in.head().method, in.head().path);
        on_request_({.verb = name.verb,
                     .resource = name.resource,
                     .path = in.head().path,
                     .user_agent = net::find_header(in.head().headers, "user-agent"),
                     .status = whole != nullptr ? whole->status : 200,
                     .bytes_in = in.body().size(),
                     .bytes_out = whole != nullptr ? whole->body.size() : 0,
                     .writes = in.head().method != "GET",
                     .changed = wrote,
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

awaitable<void> server::stream(net::incoming in, opened_watch what, bool expires) {
    in.begin(200, headers_of(what.content_type));
    if (expires) {
        const std::string status = to_status(expired("a fault by script: too old resource version"));
        static_cast<void>(co_await in.write("{\"type\":\"ERROR\",\"object\":" + status + "}\n"));
        in.finish();
        co_return;
    }
    event_faults trouble(faults_, what.wish.of->plural);
    event_faults* const through = faults_.empty() || is_spared(in) ? nullptr : &trouble;
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
