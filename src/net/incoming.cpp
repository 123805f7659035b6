// Answering a request on the connection it came on.
#include <utility>

#include "net/server_link.hpp"

namespace cotrain::net {

const h2::head& incoming::head() const { return state_->head; }
std::string_view incoming::body() const { return state_->body; }
bool incoming::gone() const { return state_->on == nullptr; }

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
