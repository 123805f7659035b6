// Choosing connections, making them, and what happens to requests when one goes.
#include "net/pool.hpp"

#include <algorithm>
#include <utility>

#include "net/repeat.hpp"

namespace cotrain::net {

namespace {

bool urgent(priority rank) { return rank == priority::lease || rank == priority::watch; }

std::string host_port(const tcp::address& peer) {
    const bool v6 = peer.host.find(':') != std::string::npos;
    return (v6 ? "[" + peer.host + "]" : peer.host) + ":" + std::to_string(peer.port);
}

}  // namespace

client::impl::impl(asio::any_io_executor executor, client_options given, base::logger& to)
    : executor_(executor),
      options_(std::move(given)),
      log_(to),
      peer_(host_port(options_.peer)),
      tasks_(executor),
      backoff_(options_.reconnect),
      alarm_(executor) {
    if (options_.authority.empty()) options_.authority = peer_;
    if (options_.server_name.empty()) options_.server_name = options_.peer.host;
}

void client::impl::start(const std::shared_ptr<exchange>& what) {
    if (!std::exchange(started_, true)) {
        tasks_.spawn("keep_connected", keep_connected());
        tasks_.spawn("keep_time", keep_time());
    }
    const auto now = std::chrono::steady_clock::now();
    what->deadline = std::min(now + what->what.deadline, what->what.latest);
    // A lease renewal that is not answered in half its time gets a second chance on a fresh connection.
    arm(*what, what->what.rank == priority::lease ? now + what->what.deadline / 2 : what->deadline);
    if (!dispatch(what)) enqueue(what);
}

bool client::impl::dispatch(const std::shared_ptr<exchange>& what) {
    if (what->settled()) return true;
    if (stopping_) {
        fail(*what, base::make_error(base::errc::canceled, "the client stops"));
        return true;
    }
    connection* link = choose(what->what.rank);
    if (link == nullptr) return false;
    auto taken = link->submit(what);
    if (taken) {
        ++what->attempts;
        ++gone_.requests;
        return true;
    }
    if (taken.error().code == base::errc::refused) return false;
    fail(*what, std::move(taken).error());
    return true;
}

connection* client::impl::choose(priority rank) {
    connection* fallback = nullptr;
    std::size_t usable = 0;
    for (const auto& link : connections_) {
        if (!link->usable()) continue;
        ++usable;
        const bool doubted = link->pulse().doubted();
        // What is ordinary stays on the oldest connection; what is urgent goes wherever it need not queue.
        if (!doubted && (!urgent(rank) || link->has_room(rank))) return link.get();
        if (fallback == nullptr || (fallback->pulse().doubted() && !doubted)) fallback = link.get();
    }
    return urgent(rank) && usable < options_.connections_max ? nullptr : fallback;
}

void client::impl::enqueue(std::shared_ptr<exchange> what) {
    waiting_[static_cast<std::size_t>(what->what.rank)].push_back(std::move(what));
    wanted_.notify_later();
}

void client::impl::dispatch_waiting() {
    for (auto& queue : waiting_)
        for (std::size_t left = queue.size(); left > 0; --left) {
            auto what = std::move(queue.front());
            queue.pop_front();
            if (!dispatch(what)) queue.push_back(std::move(what));
        }
}

bool client::impl::anyone_waiting() const {
    return std::any_of(waiting_.begin(), waiting_.end(), [](const auto& queue) { return !queue.empty(); });
}

void client::impl::fail(exchange& what, base::error why) {
    disarm(what);
    if (what.settled()) return;
    what.failure = std::move(why);
    if (what.changed.waiting()) what.changed.notify_later();
}

void client::impl::drop(exchange& what) {
    disarm(what);
    if (what.on != nullptr) what.on->cancel(what);
    if (!what.settled()) what.failure = base::make_error(base::errc::canceled, "given up by the caller");
}

awaitable<void> client::impl::keep_connected() {
    asio::steady_timer pause(executor_);
    for (;;) {
        dispatch_waiting();
        if (!anyone_waiting()) {
            co_await wanted_.wait();
            continue;
        }
        if (unproven_) {
            pause.expires_after(std::min(backoff_.next(random_), options_.ping_answer));
            co_await pause.async_wait(use_tuple);
        }
        unproven_ = true;
        if (auto made = co_await establish(); !made) connect_failed(made.error());
    }
}

// Who wants dead peers found soon (a leader) is not held up by one that does not let itself be reached: first a try as
// long as a PING may take, for one that is slow then longer ones.
std::chrono::milliseconds client::impl::connect_patience() const {
    constexpr unsigned doublings_max = 8;
    return std::min(options_.connect.timeout,
                    options_.ping_answer * (1 << std::min(backoff_.attempts(), doublings_max)));
}

awaitable<base::result<>> client::impl::establish() {
    tcp::connect_options how = options_.connect;
    how.timeout = connect_patience();
    const auto until = std::chrono::steady_clock::now() + how.timeout;
    auto socket = co_await tcp::connect(options_.peer, how);
    if (!socket) co_return base::fail(std::move(socket).error());
    const auto keys = options_.tls;
    std::optional<tls::engine> secured;
    if (keys) secured.emplace(keys, options_.server_name);
    transport wire(std::move(*socket), std::move(secured));

    struct watched {
        impl* self;
        ~watched() { self->shaking_ = nullptr; }
    } under_way{this};
    shaking_ = &wire;
    shaking_until_ = until;
    wake_at(shaking_until_);
    auto shaken = co_await wire.handshake();
    if (!shaken) {
        if (std::chrono::steady_clock::now() >= shaking_until_)
            co_return base::fail(base::errc::connect, "connect to " + peer_ + ": no TLS handshake within " +
                                                          std::to_string(how.timeout.count()) + " ms");
        co_return base::fail(std::move(shaken).error().during("connect to " + peer_));
    }
    if (keys && wire.protocol() != "h2")
        co_return base::fail(base::errc::protocol, "connect to " + peer_ + ": the peer does not speak HTTP/2 (ALPN: " +
                                                       std::string(wire.protocol().empty() ? "none" : wire.protocol()) +
                                                       ")");
    ++gone_.connects;
    trouble_.clear();
    auto link =
        std::make_shared<connection>(std::move(wire),
                                     connection::bounds{options_.limits, options_.body_bytes_max, options_.ping_idle,
                                                        options_.ping_answer, options_.scheme, options_.authority},
                                     *this);
    connections_.push_back(link);
    wake_at(link->pulse().next());
    if (options_.tls != keys) link->drain();  // replaced meanwhile
    dispatch_waiting();                       // before anything is written: what waits leaves together with the preface
    tasks_.spawn("read", serve(link));
    tasks_.spawn("write", feed(link));
    co_return base::result<>{};
}

void client::impl::connect_failed(const base::error& why) {
    if (trouble_ != why.message) log_.warn("cannot connect", {{"peer", peer_}, {"error", why.message}});
    trouble_ = why.message;
    for (auto& queue : waiting_)
        for (const auto& what : queue)
            if (++what->attempts > options_.repeats_max) fail(*what, why);
}

awaitable<void> client::impl::serve(std::shared_ptr<connection> link) {
    co_await link->read_loop();
    forget(*link);
}

awaitable<void> client::impl::feed(std::shared_ptr<connection> link) { co_await link->write_loop(); }

void client::impl::forget(const connection& link) {
    gone_.bytes_in += link.wire().bytes_in;
    gone_.bytes_out += link.wire().bytes_out;
    gone_.socket_reads += link.wire().reads;
    gone_.socket_writes += link.wire().writes;
    std::erase_if(connections_, [&](const auto& each) { return each.get() == &link; });
}

void client::impl::on_answer() {
    if (!unproven_) return;
    unproven_ = false;
    backoff_.reset();
}

void client::impl::on_attempt_ended(ended_attempt attempt) {
    exchange& what = *attempt.what;
    if (what.settled()) return;
    const net::attempt facts{attempt.how,      attempt.code,  attempt.detail,      what.what.idempotent,
                             what.status != 0, what.attempts, options_.repeats_max};
    if (stopping_) {
        fail(what, base::make_error(base::errc::canceled, "the client stops"));
    } else if (should_repeat(facts)) {
        ++gone_.repeats;
        enqueue(std::move(attempt.what));
    } else {
        fail(what, explain(facts, peer_));
    }
}

void client::impl::on_draining(connection& which) {
    if (!stopping_) wake_at(which.drain_since + options_.drain);
    if (anyone_waiting()) wanted_.notify_later();
}

awaitable<void> client::impl::stop() {
    stopping_ = true;
    for (auto& queue : waiting_)
        for (const auto& what : std::exchange(queue, {}))
            fail(*what, base::make_error(base::errc::canceled, "the client stops"));
    for (const auto& link : std::vector(connections_)) link->close("the client stops");
    tasks_.cancel();
    co_await tasks_.join();
    connections_.clear();
    // Ended streams that nobody has let go of yet.
    while (!deadlines_.empty()) disarm(*deadlines_.begin()->second);
}

// What waited for another connection may use this one after all.
void client::impl::on_trusted_again() { dispatch_waiting(); }

void client::impl::replace_tls(std::shared_ptr<const tls::context> tls) {
    options_.tls = std::move(tls);
    for (const auto& link : std::vector(connections_)) link->drain();
}

void client::impl::set_ping(std::chrono::milliseconds idle, std::chrono::milliseconds answer) {
    options_.ping_idle = idle;
    options_.ping_answer = answer;
    for (const auto& link : connections_) {
        link->pulse().configure(idle, answer);
        wake_at(link->pulse().next());
    }
}

client_counters client::impl::counters() const {
    client_counters all = gone_;
    for (const auto& link : connections_) {
        all.bytes_in += link->wire().bytes_in;
        all.bytes_out += link->wire().bytes_out;
        all.socket_reads += link->wire().reads;
        all.socket_writes += link->wire().writes;
        all.streams_open += link->protocol().streams_open();
        all.requests_queued += link->protocol().requests_queued();
    }
    for (const auto& queue : waiting_) all.requests_queued += queue.size();
    return all;
}

}  // namespace cotrain::net
