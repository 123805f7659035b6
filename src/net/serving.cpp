#include "net/serving.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <utility>
#include <vector>

namespace cotrain::net {

namespace {

// What a string may take beyond what it is asked for.
constexpr std::size_t string_slack_bytes = 32;

constexpr std::size_t write_batch_bytes = 256U << 10U;
// What a peer may still send after it broke the protocol, and how long it may take to close its half.
constexpr std::size_t discard_bytes_max = 1U << 20U;
constexpr std::chrono::milliseconds linger{1000};

std::uint64_t id(h2::stream_key key) { return static_cast<std::uint64_t>(key); }

std::size_t bytes_of(const h2::head& head) {
    std::size_t bytes = head.method.size() + head.path.size() + head.scheme.size() + head.authority.size();
    for (const header& each : head.headers) bytes += sizeof each + each.name.size() + each.value.size();
    return bytes;
}

// 0 where there is none; the session has refused what is no number.
std::size_t content_length(const h2::head& head) {
    const auto text = find_header(head.headers, "content-length");
    std::size_t bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    return bytes;
}

}  // namespace

void incoming::state::end_for_memory() {
    if (on != nullptr) on->give_up(*this);
}

void incoming::state::leave() {
    on = nullptr;
    if (writable.waiting()) writable.notify_later();
    left.notify_later();
}

bool incoming::state::make_room(std::size_t more, std::size_t body_bytes_max) {
    const std::size_t needed = body.size() + more;
    if (needed <= body.capacity()) return true;
    // As a string grows, but never beyond what the body will have.
    const std::size_t most = body_bytes_said != 0 ? std::min(body_bytes_said, body_bytes_max) : body_bytes_max;
    const std::size_t room = std::max(needed, std::min(2 * body.capacity(), most));
    if (!claim.raise(bytes() - body.capacity() + room + string_slack_bytes)) return false;
    body.reserve(room);
    return true;
}

void incoming::state::forget_body() {
    body = std::string();
    claim.lower(std::min(claim.bytes(), bytes()));
}

const h2::head& incoming::head() const { return state_->head; }
std::string_view incoming::body() const { return state_->body; }
bool incoming::gone() const { return state_->on == nullptr; }
bool incoming::over() const { return gone() || state_->refused; }

std::string incoming::peer_subject() const {
    return gone() || state_->secured == nullptr ? std::string{} : state_->secured->peer_subject();
}

std::string incoming::take_body() { return std::exchange(state_->body, {}); }

bool incoming::begin_work(std::size_t bytes) {
    if (over()) return false;
    const std::size_t before = state_->claim.bytes();
    if (!state_->claim.raise_for_work(before + bytes)) return false;
    state_->work_bytes = bytes;
    return true;
}

void incoming::work_holds(std::size_t bytes) {
    const std::size_t less = state_->work_bytes - std::min(bytes, state_->work_bytes);
    state_->work_bytes -= less;
    state_->claim.lower(state_->claim.bytes() - std::min(less, state_->claim.bytes()));
}

void incoming::may_be_ended(bool on) { state_->claim.pin(!on); }

void incoming::respond(int status, header_list headers, std::string_view body) {
    if (!gone()) state_->on->respond(state_->stream, status, headers, body);
}

void incoming::begin(int status, header_list headers) {
    if (!gone()) state_->on->begin(state_->stream, status, headers);
}

awaitable<base::result<>> incoming::write(std::string_view bytes) {
    if (gone()) co_return base::fail(base::errc::lost, "the peer is gone");
    const bool room = state_->on->write(state_->stream, bytes);
    if (!room && !gone()) {
        if (!co_await state_->writable.wait()) co_return base::fail(base::errc::canceled, "the server stops");
    }
    if (gone()) co_return base::fail(base::errc::lost, "the peer is gone");
    co_return base::result<>{};
}

void incoming::finish(header_list trailers) {
    if (!gone()) state_->on->finish(state_->stream, trailers);
}

awaitable<void> incoming::until_gone() {
    while (!gone())
        if (!co_await state_->left.wait()) co_return;
}

serving::serving(transport wire, const source& from, const server_options& options, const request_handler& handler,
                 server_counters& counters, base::task_group& tasks)
    : wire_(std::move(wire)),
      from_(from),
      options_(options),
      handler_(handler),
      counters_(counters),
      tasks_(tasks),
      session_(h2::role::server, options.limits, *this),
      busy_(std::chrono::steady_clock::now()) {}

awaitable<void> serving::read_loop() {
    std::size_t discarded = 0;
    while (!closed_) {
        auto open = co_await wire_.read(&received_);
        if (!open || !*open) break;
        if (broken_) {
            discarded += received_.size();
            received_.clear();
            if (discarded > discard_bytes_max) break;
            continue;
        }
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        session_.tick(static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count()));
        broken_ = !session_.feed(received_.view()).has_value();
        received_.clear();
        start_handlers();
        if (broken_) {
            ++counters_.flood_endings;
            leave();
        }
        kick();
    }
    close();
}

// When everything is said, only our half is closed: what the peer has sent meanwhile must be read, or the kernel
// answers it with a reset that destroys our last words (the GOAWAY) on their way.
awaitable<void> serving::write_loop() {
    while (!closed_) {
        session_.drain(outgoing_, write_batch_bytes);
        if (!outgoing_.empty() || wire_.owes()) {
            writing_since_ = std::chrono::steady_clock::now();
            const bool sent = (co_await wire_.write(&outgoing_)).has_value();
            writing_since_.reset();
            if (!sent) close();
        } else if ((leaving_ && streams_.empty()) || session_.finished() || session_.failure() != nullptr) {
            leave();
            co_await wire_.finish_writing();
            lingering_since_ = std::chrono::steady_clock::now();
            co_return;
        } else if (!co_await work_.wait()) {
            close();
        }
    }
}

void serving::shutdown() {
    session_.shutdown();
    leave();
}

void serving::leave() {
    if (!std::exchange(leaving_, true)) leaving_since_ = std::chrono::steady_clock::now();
    kick();
}

void serving::close() {
    if (std::exchange(closed_, true)) return;
    wire_.close();
    session_.abandon("closed");
    kick();
}

std::optional<time_point> serving::waiting_since() const {
    if (streams_.empty()) return busy_;
    time_point first = time_point::max();
    for (const auto& [key, request] : streams_) {
        if (request->handed && !request->answered) return std::nullopt;
        first = std::min(first, request->answered.value_or(request->since));
    }
    return first;
}

void serving::tick(time_point now) {
    if (!streams_.empty()) busy_ = now;
    if (now - busy_ > options_.idle) shutdown();
    if (leaving_ && streams_.empty() && now - leaving_since_ > options_.drain) return close();
    if (lingering_since_ && now - *lingering_since_ > linger) return close();
    if (writing_since_ && now - *writing_since_ > options_.request) return close();
    cancel_dawdlers(now);
}

void serving::cancel_dawdlers(time_point now) {
    std::vector<h2::stream_key> slow;  // each that is cancelled leaves streams_
    for (const auto& [key, request] : streams_)
        if (dawdles(*request, now)) slow.push_back(request->stream);
    for (const h2::stream_key each : slow) session_.cancel(each);
    if (!slow.empty()) kick();
}

// Who sends a request bit by bit, or does not take its answer.
bool serving::dawdles(const incoming::state& request, time_point now) const {
    if (request.answered) return now - *request.answered > options_.request;
    return !request.handed && now - request.since > options_.request;
}

void serving::mark_answered(h2::stream_key stream) {
    const auto found = streams_.find(id(stream));
    if (found != streams_.end()) found->second->answered = std::chrono::steady_clock::now();
}

void serving::on_head(h2::stream_key stream, h2::head head) {
    auto request = std::make_shared<incoming::state>(*options_.account, from_);
    request->on = this;
    request->secured = wire_.secured();
    request->stream = stream;
    request->head = std::move(head);
    request->head_bytes = bytes_of(request->head);
    request->since = std::chrono::steady_clock::now();
    streams_.emplace(id(stream), request);
    request->body_bytes_said = content_length(request->head);
    if (request->body_bytes_said > options_.body_bytes_max) return refuse(*request, 413);
    if (!request->claim.raise(request->bytes())) refuse(*request, 503);
}

void serving::on_data(h2::stream_key stream, std::string_view bytes) {
    session_.consume(stream, bytes.size());
    const auto found = streams_.find(id(stream));
    if (found == streams_.end() || found->second->refused) return;
    const auto request = found->second;  // what makes room may change streams_
    if (bytes.size() > options_.body_bytes_max - request->body.size()) return refuse(*request, 413);
    if (!request->make_room(bytes.size(), options_.body_bytes_max)) return refuse(*request, 503);
    request->body.append(bytes);
}

void serving::refuse(incoming::state& request, int status) {
    request.refused = true;
    request.answered = std::chrono::steady_clock::now();
    request.claim.pin(false);
    request.forget_body();
    session_.respond(request.stream, status, {}, true);
}

// What is answered already, or refused, only waits for its peer to take it.
void serving::give_up(incoming::state& request) {
    if (request.answered) {
        session_.cancel(request.stream);
    } else {
        refuse(request, 503);
    }
    kick();
}

void serving::on_end(h2::stream_key stream, header_list) {
    const auto found = streams_.find(id(stream));
    if (found == streams_.end() || found->second->refused) return;
    found->second->handed = true;
    found->second->claim.pin(true);
    complete_.push_back(found->second);
}

void serving::on_close(h2::stream_key stream, h2::ending, std::uint32_t, std::string_view) {
    const auto found = streams_.find(id(stream));
    if (found == streams_.end()) return;
    auto request = std::move(found->second);
    streams_.erase(found);
    request->leave();
    if (leaving_ && streams_.empty()) kick();
}

void serving::on_writable(h2::stream_key stream) {
    const auto found = streams_.find(id(stream));
    if (found != streams_.end() && found->second->writable.waiting()) found->second->writable.notify_later();
}

void serving::start_handlers() {
    for (unsigned handed = 0; handed < requests_a_turn_max && !complete_.empty(); complete_.pop_front()) {
        auto request = std::move(complete_.front());
        if (request->on == nullptr) continue;
        ++handed;
        ++counters_.requests;
        tasks_.spawn("request", answer(std::move(request)));
    }
    if (complete_.empty() || std::exchange(handing_on_, true)) return;
    asio::post(tasks_.executor(), [self = weak_from_this()] {
        const auto link = self.lock();
        if (link == nullptr) return;
        link->handing_on_ = false;
        link->start_handlers();
    });
}

awaitable<void> serving::answer(std::shared_ptr<incoming::state> request) {
    co_await handler_(incoming(request));
    request->work_bytes = 0;
    request->forget_body();
    request->claim.pin(false);
}

void serving::respond(h2::stream_key stream, int status, const header_list& headers, std::string_view body) {
    session_.respond(stream, status, headers, body.empty());
    if (!body.empty()) {
        session_.write(stream, body);
        session_.finish(stream);
    }
    mark_answered(stream);
    kick();
}

void serving::begin(h2::stream_key stream, int status, const header_list& headers) {
    session_.respond(stream, status, headers, false);
    kick();
}

bool serving::write(h2::stream_key stream, std::string_view bytes) {
    const bool room = session_.write(stream, bytes);
    kick();
    return room;
}

void serving::finish(h2::stream_key stream, const header_list& trailers) {
    session_.finish(stream, trailers);
    mark_answered(stream);
    kick();
}

}  // namespace cotrain::net
