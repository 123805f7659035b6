// Answering a request on the connection it came on.
#include <algorithm>
#include <utility>

#include "net/server_link.hpp"

namespace cotrain::net {

namespace {

// What a string may take beyond what it is asked for.
constexpr std::size_t string_slack_bytes = 32;

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

}  // namespace cotrain::net
