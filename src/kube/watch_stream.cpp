#include "kube/watch_stream.hpp"

#include <cstring>
#include <utility>

namespace cotrain::kube {

namespace {

constexpr std::size_t carry_retained_bytes = 64 * 1024;

std::string_view without_return(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

}  // namespace

base::result<std::optional<std::string_view>> line_splitter::next() {
    if (carry_done_) {
        carry_done_ = false;
        if (carry_.capacity() > carry_retained_bytes) carry_ = std::string();
        carry_.clear();
    }
    while (!rest_.empty()) {
        const void* found = std::memchr(rest_.data(), '\n', rest_.size());
        const std::size_t end =
            found == nullptr ? rest_.size() : static_cast<std::size_t>(static_cast<const char*>(found) - rest_.data());
        if (carry_.size() + end > line_bytes_max_)
            return base::fail(base::errc::too_large,
                              "a line is longer than " + std::to_string(line_bytes_max_) + " bytes");
        const std::string_view piece = rest_.substr(0, end);
        rest_.remove_prefix(found == nullptr ? end : end + 1);
        if (found == nullptr) {
            carry_.append(piece);
            break;
        }
        if (carry_.empty()) {
            if (const std::string_view line = without_return(piece); !line.empty()) return line;
            continue;
        }
        carry_.append(piece);
        carry_done_ = true;
        if (const std::string_view line = without_return(carry_); !line.empty()) return line;
        carry_done_ = false;
        carry_.clear();
    }
    return std::nullopt;
}

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
