// The loops of an HTTP/1.1 connection and the life of a request on it.
#include "net/http1/serving.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace cotrain::net::http1 {

namespace {

// What a peer may still send after the last answer, and how long it may take to close its half.
constexpr std::size_t discard_bytes_max = 16U << 20U;
constexpr std::chrono::milliseconds linger{1000};

}  // namespace

serving::serving(transport wire, const source& from, const server_options& options, const request_handler& handler,
                 server_counters& counters, base::task_group& tasks)
    : wire_(std::move(wire)),
      from_(from),
      options_(options),
      handler_(handler),
      counters_(counters),
      tasks_(tasks),
      session_({.header_bytes_max = options.limits.header_list_bytes_max, .body_bytes_max = options.body_bytes_max}),
      arriving_(*options.account, from, *this),
      since_(std::chrono::steady_clock::now()) {}

// After the last answer what the peer still sends must be read, or the kernel answers it with a reset that destroys
// that answer on its way.
awaitable<void> serving::read_loop() {
    std::size_t discarded = 0;
    while (!closed_) {
        if (received_.size() >= pipeline_bytes_max && (session_.answering() || clogged() || going_on_)) {
            if (!co_await room_.wait()) break;
            continue;
        }
        const auto open = co_await wire_.read(&received_);
        if (closed_ || !open) break;
        if (session_.closing()) {
            discarded += received_.size();
            received_.clear();
            if (!*open || discarded > discard_bytes_max) break;
            kick();
            continue;
        }
        ended_ = !*open;
        advance();
        kick();
        if (ended_) co_return;  // it may still read: the writer closes after the last answer
    }
    close();
}

awaitable<void> serving::write_loop() {
    while (!closed_) {
        if (outgoing_.empty()) outgoing_.swap(session_.outgoing());
        if (!outgoing_.empty() || wire_.owes()) {
            writing_since_ = std::chrono::steady_clock::now();
            const bool sent = (co_await wire_.write(&outgoing_)).has_value();
            writing_since_.reset();
            if (!sent) close();
            if (!session_.answering() && !session_.closing() && (ended_ || !received_.empty()) && !clogged())
                advance_later();
            if (current_ && current_->writable.waiting()) current_->writable.notify_later();
        } else if (session_.closing()) {
            co_await wire_.finish_writing();
            if (ended_) close();
            lingering_since_ = std::chrono::steady_clock::now();
            co_return;
        } else if (!co_await work_.wait()) {
            close();
        }
    }
}

void serving::advance() {
    if (std::exchange(advancing_, true)) return;  // an answer given at once: the loop below goes on
    while (!session_.answering() && !session_.closing() && !received_.empty() && !clogged()) {
        if (handed_ == requests_a_turn_max) {
            advance_later();
            break;
        }
        if (!claim_arriving()) {
            refuse(503, "too many requests at once");
            break;
        }
        const std::size_t taken = session_.feed(received_.view());
        received_.consume(taken);
        if (auto ready = session_.take()) {
            hand_over(std::move(*ready));
        } else if (taken == 0) {
            break;
        }
    }
    advancing_ = false;
    if (ended_ && !session_.answering() && !going_on_ && !clogged()) session_.end_of_input();
    if (session_.receiving() != was_receiving_) {
        was_receiving_ = session_.receiving();
        since_ = std::chrono::steady_clock::now();
    }
    if (!session_.receiving()) arriving_.lower(0);
}

void serving::advance_later() {
    if (std::exchange(going_on_, true)) return;
    asio::post(tasks_.executor(), [self = weak_from_this()] {
        const auto link = self.lock();
        if (link == nullptr) return;
        link->going_on_ = false;
        link->handed_ = 0;
        if (link->closed_) return;
        link->advance();
        if (link->room_.waiting()) link->room_.notify_later();
        link->kick();
    });
}

// Its head as large as it may get, and its body as strings grow.
bool serving::claim_arriving() {
    const std::size_t body = session_.body_bytes() + received_.size();
    return arriving_.raise(request_overhead_bytes + options_.limits.header_list_bytes_max + 2 * body);
}

void serving::end_for_memory() { refuse(503, "too many requests at once"); }

// Nothing else may begin meanwhile: others are being ended, too.
void serving::give_up(incoming::state& request) {
    request.refused = true;
    request.forget_body();
    if (!is_current(request.stream)) return;
    session_.respond(503, {}, {});
    since_ = std::chrono::steady_clock::now();
    std::exchange(current_, nullptr)->leave();
    advance_later();
    kick();
}

void serving::hand_over(request what) {
    auto state = std::make_shared<incoming::state>(*options_.account, from_);
    state->on = this;
    state->secured = wire_.secured();
    state->stream = h2::stream_key{++requests_};
    state->head = std::move(what.head);
    state->head.scheme = wire_.secured() != nullptr ? "https" : "http";
    state->head_bytes = options_.limits.header_list_bytes_max;
    state->body = std::move(what.body);
    state->handed = true;
    state->claim.pin(true);
    arriving_.lower(0);
    ++handed_;
    current_ = state;
    ++counters_.requests;
    // What was claimed while it arrived.
    if (!state->claim.raise_for_work(state->bytes())) return state->on->respond(state->stream, 503, {}, {});
    tasks_.spawn("request", answer(std::move(state)));
}

awaitable<void> serving::answer(std::shared_ptr<incoming::state> request) {
    co_await handler_(incoming(request));
    request->work_bytes = 0;
    request->forget_body();
    request->claim.pin(false);
}

void serving::settle() {
    if (!session_.answering() && current_) {
        std::exchange(current_, nullptr)->leave();
        since_ = std::chrono::steady_clock::now();
        if (room_.waiting()) room_.notify_later();
        advance();
    }
    kick();
}

void serving::shutdown() {
    session_.shutdown();
    kick();
}

void serving::close() {
    if (std::exchange(closed_, true)) return;
    wire_.close();
    if (current_) std::exchange(current_, nullptr)->leave();
    if (room_.waiting()) room_.notify_later();
    kick();
}

std::optional<time_point> serving::waiting_since() const {
    if (session_.answering()) return std::nullopt;
    return since_;
}

void serving::tick(time_point now) {
    if (lingering_since_ && now - *lingering_since_ > linger) return close();
    if (writing_since_ && now - *writing_since_ > options_.request) return close();
    if (session_.answering() || session_.closing()) return;
    // A peer that has never asked for anything gets no more time than one that is asking.
    const auto patience = session_.receiving() || requests_ == 0 ? options_.request : options_.idle;
    if (now - since_ <= patience) return;
    if (!session_.receiving()) return shutdown();
    refuse(408, "the request took too long");
}

void serving::refuse(int status, std::string_view why) {
    session_.refuse(status, why);
    arriving_.lower(0);
    kick();
}

void serving::respond(h2::stream_key stream, int status, const header_list& headers, std::string_view body) {
    if (!is_current(stream)) return;
    session_.respond(status, headers, body);
    settle();
}

void serving::begin(h2::stream_key stream, int status, const header_list& headers) {
    if (!is_current(stream)) return;
    session_.begin(status, headers);
    kick();
}

bool serving::write(h2::stream_key stream, std::string_view bytes) {
    if (!is_current(stream)) return true;
    session_.write(bytes);
    kick();
    return session_.outgoing().size() < response_buffer_bytes_max;
}

void serving::finish(h2::stream_key stream, const header_list& trailers) {
    if (!is_current(stream)) return;
    session_.finish(trailers);
    settle();
}

}  // namespace cotrain::net::http1
