// Chunks of a body into lines, and the ways a watch ends.
#include "kube/watch_stream.hpp"

#include <utility>

#include "kube/lines.hpp"

namespace cotrain::kube {

struct watch_stream::state {
    net::body_stream body;
    std::string attempt;
    line_splitter lines;
};

watch_stream::watch_stream(net::body_stream body, std::string attempt, std::chrono::steady_clock::time_point due,
                           std::size_t line_bytes_max)
    : state_(new state{std::move(body), std::move(attempt), line_splitter(line_bytes_max)}) {
    state_->body.end_by(due);
}
watch_stream::watch_stream(watch_stream&&) noexcept = default;
watch_stream& watch_stream::operator=(watch_stream&&) noexcept = default;
watch_stream::~watch_stream() = default;

base::result<std::optional<std::string_view>> watch_stream::take() {
    auto line = state_->lines.next();
    if (!line) return base::fail(std::move(line).error().during(state_->attempt));
    return line;
}

awaitable<base::result<bool>> watch_stream::more() {
    state& s = *state_;
    auto arrived = s.body.take();
    while (!arrived) {
        if (!co_await s.body.arrival())
            co_return base::fail(base::errc::canceled, s.attempt + ": given up by the caller");
        arrived = s.body.take();
    }
    const base::result<std::string_view>& chunk = *arrived;
    if (!chunk && chunk.error().code == base::errc::deadline)
        co_return base::fail(base::errc::lost, s.attempt + ": the server did not end the watch in time");
    if (!chunk) co_return base::fail(base::error(chunk.error()).during(s.attempt));
    if (!chunk->empty()) {
        s.lines.feed(*chunk);
        co_return true;
    }
    if (s.lines.pending() != 0) co_return base::fail(base::errc::lost, s.attempt + ": ended in the middle of an event");
    co_return false;
}

awaitable<base::result<std::optional<std::string_view>>> watch_stream::next() {
    for (;;) {
        auto line = take();
        if (!line || *line) co_return line;
        const auto again = co_await more();
        if (!again) co_return base::fail(again.error());
        if (!*again) co_return std::optional<std::string_view>{};
    }
}

}  // namespace cotrain::kube
