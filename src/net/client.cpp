#include "net/client.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "base/contain.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "net/connection.hpp"
#include "net/repeat.hpp"

namespace cotrain::net {

struct client::impl final : connection::owner {
    impl(asio::any_io_executor executor, client_options given, base::logger& to);

    void start(const std::shared_ptr<exchange>& what);
    // Forgets a request nobody waits for any more; cancels its stream.
    void drop(exchange& what);
    // When its time is over; disarm() takes that back.
    void arm(exchange& what, time_point when);
    void disarm(exchange& what);
    [[nodiscard]] awaitable<void> stop();
    void replace_tls(std::shared_ptr<const tls::context> tls);
    void set_ping(std::chrono::milliseconds idle, std::chrono::milliseconds answer);
    [[nodiscard]] client_counters counters() const;

   private:
    void on_answer() override;
    void on_attempt_ended(ended_attempt attempt) override;
    void on_draining(connection& which) override;
    void on_trusted_again() override;
    void on_late(exchange& what) override;

    [[nodiscard]] connection* choose(priority rank);
    // True when `what` went to a connection or has failed for good.
    bool dispatch(const std::shared_ptr<exchange>& what);
    void enqueue(std::shared_ptr<exchange> what);
    void dispatch_waiting();
    [[nodiscard]] bool anyone_waiting() const;
    void fail(exchange& what, base::error why);

    [[nodiscard]] awaitable<void> keep_connected();
    [[nodiscard]] awaitable<base::result<>> establish();
    // How long reaching the peer may take.
    [[nodiscard]] std::chrono::milliseconds connect_patience() const;
    void connect_failed(const base::error& why);
    [[nodiscard]] awaitable<void> serve(std::shared_ptr<connection> link);
    [[nodiscard]] awaitable<void> contain(std::shared_ptr<connection> link, awaitable<void> loop);
    void forget(const connection& link);

    [[nodiscard]] awaitable<void> keep_time();
    time_point sweep(time_point now);
    void expire(exchange& what);
    void hedge(exchange& what, time_point now);
    void wake_at(time_point when);

    asio::any_io_executor executor_;
    client_options options_;
    base::logger& log_;
    std::string peer_;
    base::task_group tasks_;
    base::random_source random_ = base::random_source::from_system();
    base::backoff backoff_;
    std::vector<std::shared_ptr<connection>> connections_;
    std::array<std::deque<std::shared_ptr<exchange>>, 4> waiting_;  // by rank
    deadline_map deadlines_;
    base::signal wanted_;
    asio::steady_timer alarm_;
    time_point alarm_at_ = time_point::max();
    transport* shaking_ = nullptr;  // handshake under way …
    time_point shaking_until_{};    // … and its end
    std::string trouble_;           // why there is no connection; empty while all is well
    client_counters gone_;          // of connections that are no more
    bool unproven_ = false;         // no answer yet since the last connect: the next one backs off
    bool started_ = false;
    bool stopping_ = false;
};

namespace {

// Gives the request up when its coroutine ends early, by cancellation or otherwise.
template <class Owner>
struct abandon_on_exit {
    Owner* owner;
    std::shared_ptr<exchange> what;
    ~abandon_on_exit() {
        if (what) owner->drop(*what);
    }
};

base::error given_up() { return base::make_error(base::errc::canceled, "given up by the caller"); }

bool urgent(priority rank) { return rank == priority::lease || rank == priority::watch; }

std::string host_port(const tcp::address& peer) {
    const bool v6 = peer.host.find(':') != std::string::npos;
    return (v6 ? "[" + peer.host + "]" : peer.host) + ":" + std::to_string(peer.port);
}

}  // namespace

client::client(asio::any_io_executor executor, client_options options, base::logger& log)
    : impl_(std::make_unique<impl>(std::move(executor), std::move(options), log)) {}

client::~client() = default;

awaitable<base::result<response>> client::send(request what, request* back) {
    auto shared = std::make_shared<exchange>();
    shared->what = std::move(what);
    const abandon_on_exit<impl> guard{impl_.get(), shared};
    impl_->start(shared);
    while (!shared->settled())
        if (!co_await shared->changed.wait()) break;
    impl_->drop(*shared);  // before the request, which a stream may still refer to
    if (back != nullptr) *back = std::move(shared->what);
    if (shared->failure) co_return base::fail(std::move(*shared->failure));
    co_return response{shared->status, std::move(shared->headers), std::move(shared->text),
                       std::move(shared->trailers)};
}

struct body_stream::state {
    client::impl* owner = nullptr;
    std::shared_ptr<exchange> what;
    base::byte_queue current{16U << 10U};  // what the reader looks at: apart from what arrives meanwhile

    // After the client's stop() no stream is carried or timed any more, and the client may be gone.
    void give_up() const {
        if (what->on != nullptr || what->alarmed) owner->drop(*what);
    }
};

awaitable<base::result<body_stream>> client::open(request what) {
    auto shared = std::make_shared<exchange>();
    shared->what = std::move(what);
    shared->whole = false;
    abandon_on_exit<impl> guard{impl_.get(), shared};
    impl_->start(shared);
    while (shared->status == 0 && !shared->settled())
        if (!co_await shared->changed.wait()) co_return base::fail(given_up());
    if (shared->failure) co_return base::fail(std::move(*shared->failure));
    impl_->disarm(*shared);
    guard.what.reset();
    auto held = std::make_unique<body_stream::state>();
    held->owner = impl_.get();
    held->what = std::move(shared);
    co_return body_stream(std::move(held));
}

body_stream::body_stream(std::unique_ptr<state> held) : state_(std::move(held)) {}
body_stream::body_stream(body_stream&&) noexcept = default;

body_stream& body_stream::operator=(body_stream&& other) noexcept {
    if (state_) state_->give_up();
    state_ = std::move(other.state_);
    return *this;
}

body_stream::~body_stream() {
    if (state_) state_->give_up();
}

void body_stream::end_by(std::chrono::steady_clock::time_point when) {
    exchange& what = *state_->what;
    if (what.on == nullptr) return;
    what.deadline = when;
    state_->owner->arm(what, when);
}

int body_stream::status() const { return state_->what->status; }
const header_list& body_stream::headers() const { return state_->what->headers; }

base::signal& body_stream::changed() { return state_->what->changed; }

std::optional<base::result<std::string_view>> body_stream::take() {
    state& s = *state_;
    exchange& what = *s.what;
    if (const std::size_t used = s.current.size(); used != 0) {
        s.current.clear();
        if (what.on != nullptr) what.on->consume(what, used);
    }
    if (!what.body.empty()) {
        s.current.swap(what.body);
        return s.current.view();
    }
    if (what.ended) return std::string_view{};
    if (what.failure) return base::fail(*what.failure);
    return std::nullopt;
}

awaitable<base::result<std::string_view>> body_stream::read() {
    for (;;) {
        if (auto got = take()) co_return *std::move(got);
        if (!co_await arrival()) co_return base::fail(given_up());
    }
}

awaitable<base::result<std::string>> body_stream::read_all(std::size_t bytes_max) {
    std::string all;
    for (;;) {
        auto piece = co_await read();
        if (!piece) co_return base::fail(std::move(piece).error());
        if (piece->empty()) co_return all;
        if (all.size() + piece->size() > bytes_max)
            co_return base::fail(base::errc::too_large,
                                 "the answer is larger than " + std::to_string(bytes_max) + " bytes");
        all.append(*piece);
    }
}

void client::use_tls(std::shared_ptr<const tls::context> tls) { impl_->replace_tls(std::move(tls)); }

void client::set_ping(std::chrono::milliseconds idle, std::chrono::milliseconds answer) {
    impl_->set_ping(idle, answer);
}

client_counters client::counters() const { return impl_->counters(); }

awaitable<void> client::stop() { co_await impl_->stop(); }

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
        tasks_.supervise("keep_connected", [this] { return keep_connected(); }, log_);
        tasks_.supervise("keep_time", [this] { return keep_time(); }, log_);
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
    tasks_.spawn("write", contain(link, link->write_loop()));
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
    co_await contain(link, link->read_loop());
    forget(*link);
}

// An exception ends its connection alone, as a fault of the network does.
awaitable<void> client::impl::contain(std::shared_ptr<connection> link, awaitable<void> loop) {
    try {
        co_await std::move(loop);
    } catch (...) {
        const std::string why = base::caught();
        log_.error("unexpected exception", {{"in", "connection"}, {"peer", peer_}, {"error", why}});
        link->close(why);
    }
}

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

void client::impl::arm(exchange& what, time_point when) {
    disarm(what);
    what.alarm = deadlines_.emplace_hint(deadlines_.end(), when, &what);
    what.alarmed = true;
    wake_at(when);
}

void client::impl::disarm(exchange& what) {
    if (std::exchange(what.alarmed, false)) deadlines_.erase(what.alarm);
}

void client::impl::wake_at(time_point when) {
    if (when >= alarm_at_) return;
    alarm_at_ = when;
    alarm_.cancel();
}

awaitable<void> client::impl::keep_time() {
    for (;;) {
        alarm_at_ = sweep(std::chrono::steady_clock::now());
        alarm_.expires_at(alarm_at_);
        co_await alarm_.async_wait(use_tuple);
    }
}

// Does what is due and returns when something is due next.
time_point client::impl::sweep(time_point now) {
    alarm_at_ = time_point::min();  // nobody needs to wake us meanwhile
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        exchange& what = *deadlines_.begin()->second;
        disarm(what);
        if (now < what.deadline) {
            hedge(what, now);
        } else {
            expire(what);
        }
    }
    time_point next = time_point::max();
    for (const auto& link : std::vector(connections_)) {
        next = std::min(next, link->tick(now));
        if (!link->draining()) continue;
        const time_point end = link->drain_since + options_.drain;
        if (end <= now) {
            link->end_streams("the connection was replaced, and the stream did not end in time");
        } else {
            next = std::min(next, end);
        }
    }
    if (shaking_ != nullptr) {
        if (shaking_until_ <= now) {
            shaking_->close();
        } else {
            next = std::min(next, shaking_until_);
        }
    }
    return deadlines_.empty() ? next : std::min(next, deadlines_.begin()->first);
}

void client::impl::expire(exchange& what) {
    const bool streams = !what.whole && what.status != 0;
    std::string text = streams ? peer_ + ": the answer did not end in time"
                               : peer_ + ": no answer within " + std::to_string(what.what.deadline.count()) + " ms";
    if (what.on == nullptr && !trouble_.empty()) text += "; not connected: " + trouble_;
    const bool sent = what.on != nullptr;
    if (sent) what.on->cancel(what);
    fail(what,
         base::make_error(base::errc::deadline, sent ? base::retry::idempotent : base::retry::later, std::move(text)));
}

void client::impl::on_late(exchange& what) { expire(what); }

// Asks a connection that may be dead for a sign of life, and moves a lease renewal away from it, if that may happen
// twice. Whatever else the connection carries stays: the peer may only be slow.
void client::impl::hedge(exchange& what, time_point now) {
    arm(what, what.deadline);
    if (what.on == nullptr || what.status != 0 || std::exchange(what.hedged, true)) return;
    connection& doubtful = *what.on;
    doubtful.pulse().doubt(now);
    if (what.what.idempotent) enqueue(doubtful.release(what));
}

}  // namespace cotrain::net
