// The two loops of a client connection and the bookkeeping of its streams.
#include "net/connection.hpp"

#include <algorithm>
#include <utility>

namespace cotrain::net {

namespace {

// What one write asks the session for: enough for one TLS write of many small requests, small enough to stay cached.
constexpr std::size_t write_batch_bytes = 256U << 10U;

// In a long row of answers, what their receivers ask next is sent meanwhile: the peer works while we do.
constexpr std::size_t write_after_wakes = 24;

// Nearer than that to latest_, which may be of a request that has ended, those that run are asked.
constexpr std::chrono::milliseconds latest_margin{1};

std::uint64_t id(h2::stream_key key) { return static_cast<std::uint64_t>(key); }

}  // namespace

connection::connection(transport wire, bounds limits, owner& who)
    : wire_(std::move(wire)),
      bounds_(std::move(limits)),
      owner_(who),
      session_(h2::role::client, bounds_.limits, *this),
      pulse_(bounds_.ping_idle, bounds_.ping_answer, std::chrono::steady_clock::now()) {}

awaitable<void> connection::read_loop() {
    while (!closed_) {
        auto open = co_await wire_.read(&incoming_);
        if (!open || !*open) {
            close(open ? "the peer closed the connection" : std::move(open).error().message);
            break;
        }
        base::turn now;
        const bool doubted = pulse_.doubted();
        pulse_.heard(std::chrono::steady_clock::now());
        if (doubted) owner_.on_trusted_again();
        if (auto fed = session_.feed(incoming_.view()); !fed) {
            close(std::move(fed).error().message);
            break;
        }
        incoming_.clear();
        deliver();
        now.end();  // what they are to do, and what that asks of the peer
        // Everybody this read concerns has run: what they want sent leaves now, in one write.
        if (session_.wants_write() || wire_.owes() || over()) work_.notify();
    }
}

awaitable<void> connection::write_loop() {
    while (!closed_) {
        keep_latest();
        work_.forget();  // whatever was asked for is in what the session gives now
        session_.drain(outgoing_, write_batch_bytes);
        deliver();  // requests that found the stream ids used up
        if (!outgoing_.empty() || wire_.owes()) {
            wire_.send_by(latest_);
            auto sent = wire_.write_now(&outgoing_);
            if (!sent) {
                close(std::move(sent).error().message);
            } else if (!*sent) {
                if (auto rest = co_await wire_.write_rest(); !rest) close(std::move(rest).error().message);
            }
        } else if (session_.failure() != nullptr) {
            close(session_.failure()->message);
        } else if (over()) {
            close("replaced");
        } else if (!co_await work_.wait()) {
            break;
        }
    }
}

bool connection::over() const { return (draining_ && running_.empty()) || session_.finished(); }

base::result<> connection::submit(std::shared_ptr<exchange> what) {
    auto key = session_.submit(what->what, bounds_.scheme, bounds_.authority);
    if (!key) return base::fail(std::move(key).error());
    what->on = this;
    what->stream = *key;
    latest_ = std::min(latest_, what->what.latest);
    running_.emplace(id(*key), std::move(what));
    kick();
    return {};
}

void connection::keep_latest() {
    if (latest_ == time_point::max()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now + latest_margin < latest_) return;
    std::vector<std::shared_ptr<exchange>> late;
    latest_ = time_point::max();
    for (const auto& [key, what] : running_) {
        if (what->what.latest <= now) {
            late.push_back(what);
        } else {
            latest_ = std::min(latest_, what->what.latest);
        }
    }
    for (const auto& what : late) owner_.on_late(*what);
}

void connection::cancel(exchange& what) { static_cast<void>(release(what)); }

std::shared_ptr<exchange> connection::release(exchange& what) {
    if (what.on != this) return nullptr;
    const auto found = running_.find(id(what.stream));
    std::shared_ptr<exchange> kept = std::move(found->second);
    running_.erase(found);
    kept->on = nullptr;
    session_.cancel(kept->stream);
    kick();
    return kept;
}

void connection::consume(const exchange& what, std::size_t bytes) {
    session_.consume(what.stream, bytes);
    if (session_.wants_write()) kick();
}

void connection::drain() {
    if (std::exchange(draining_, true)) return;
    drain_since = std::chrono::steady_clock::now();
    session_.shutdown();
    owner_.on_draining(*this);
    kick();
    deliver();
}

void connection::end_streams(std::string_view why) {
    std::vector<exchange*> streamed;
    for (const auto& [key, what] : running_)
        if (!what->whole) streamed.push_back(what.get());
    for (exchange* what : streamed) ended_.push_back({release(*what), h2::ending::lost, 0, std::string(why)});
    deliver();
}

void connection::close(std::string why) {
    if (std::exchange(closed_, true)) return;
    why_ = std::move(why);
    draining_ = true;
    wire_.close();
    session_.abandon(why_);
    owner_.on_draining(*this);
    deliver();
    work_.notify_later();
}

time_point connection::tick(time_point now) {
    switch (pulse_.tick(now)) {
        case liveness::action::ask:
            session_.ping(static_cast<std::uint64_t>(now.time_since_epoch().count()));
            kick();
            break;
        case liveness::action::dead: close("the peer is silent and does not answer PING"); break;
        case liveness::action::none: break;
    }
    return pulse_.next();
}

void connection::deliver() {
    if (std::exchange(delivering_, true)) return;
    struct at_end {
        bool& delivering;
        ~at_end() { delivering = false; }
    } const over{delivering_};
    // Waking someone may start requests, cancel streams or close us: lists grow while they are walked.
    std::size_t woken = 0;
    while (!ended_.empty() || !announced_.empty()) {
        for (auto& attempt : std::exchange(ended_, {})) owner_.on_attempt_ended(std::move(attempt));
        waking_.swap(announced_);
        for (auto& what : waking_) {
            what->announced = false;
            if (!what->changed.waiting()) continue;
            what->changed.notify();
            if (++woken % write_after_wakes == 0 && !closed_) work_.notify();
        }
        waking_.clear();
    }
}

void connection::on_head(h2::stream_key stream, h2::head head) {
    const auto found = running_.find(id(stream));
    if (found == running_.end()) return;
    exchange& what = *found->second;
    what.status = head.status;
    what.headers = std::move(head.headers);
    owner_.on_answer();
    if (!what.whole) announce(found->second);
}

void connection::on_data(h2::stream_key stream, std::string_view bytes) {
    const auto found = running_.find(id(stream));
    if (found == running_.end()) return;
    exchange& what = *found->second;
    if (!what.whole) {
        what.body.append(bytes);
        announce(found->second);
        return;
    }
    what.text.append(bytes);
    session_.consume(stream, bytes.size());
    if (what.text.size() <= bounds_.body_bytes_max) return;
    const std::shared_ptr<exchange> kept = found->second;
    kept->failure = base::make_error(base::errc::too_large,
                                     "the answer is larger than " + std::to_string(bounds_.body_bytes_max) + " bytes");
    cancel(*kept);
    announce(kept);
}

void connection::on_end(h2::stream_key stream, header_list trailers) {
    const auto found = running_.find(id(stream));
    if (found == running_.end()) return;
    found->second->trailers = std::move(trailers);
    found->second->ended = true;
    announce(found->second);
}

void connection::on_close(h2::stream_key stream, h2::ending how, std::uint32_t code, std::string_view detail) {
    const auto found = running_.find(id(stream));
    if (found == running_.end()) return;
    std::shared_ptr<exchange> what = std::move(found->second);
    running_.erase(found);
    what->on = nullptr;
    if (!what->ended) ended_.push_back({std::move(what), how, code, std::string(detail)});
}

void connection::on_goaway(std::uint32_t, std::string_view) {
    draining_ = true;
    drain_since = std::chrono::steady_clock::now();
    owner_.on_draining(*this);
}

void connection::announce(const std::shared_ptr<exchange>& what) {
    if (std::exchange(what->announced, true)) return;
    announced_.push_back(what);
}

// Wakes the writer at the end of this loop turn, so that all frames of the turn leave together.
void connection::kick() { work_.notify_later(); }

}  // namespace cotrain::net
