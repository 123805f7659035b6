// The answer to a watch, line by line.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "net/client.hpp"

namespace cotrain::kube {

// Cuts a stream of chunks into lines without copying those that lie whole in one chunk.

class line_splitter {
   public:
    explicit line_splitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

    // The next chunk; it must stay in place until next() has returned nothing. Call only then.
    void feed(std::string_view chunk) { rest_ = chunk; }
    // The next whole line, without its line break and never empty, valid until the next call; nothing when another
    // chunk is needed. too_large when a line exceeds the bound: the stream is of no more use.
    [[nodiscard]] base::result<std::optional<std::string_view>> next();
    // Bytes of a line whose end has not come yet.
    [[nodiscard]] std::size_t pending() const { return carry_done_ ? 0 : carry_.size(); }

   private:
    std::size_t line_bytes_max_;
    std::string_view rest_;
    std::string carry_;        // a line that spans chunks
    bool carry_done_ = false;  // it was handed out
};

// The events of one watch as they arrive: one JSON object a line, handed out without copying where it lies whole.

// Destroying it ends the watch. One reader.
class watch_stream {
   public:
    // The server should have ended the watch before `due`; if it has not, reading fails with errc::lost.
    watch_stream(net::body_stream body, std::string attempt, std::chrono::steady_clock::time_point due,
                 std::size_t line_bytes_max);
    watch_stream(watch_stream&&) noexcept;
    watch_stream& operator=(watch_stream&&) noexcept;
    ~watch_stream();

    // The next event that is here already, valid until the next call of anything; nothing: more() is needed.
    [[nodiscard]] base::result<std::optional<std::string_view>> take();
    // Waits for more bytes: true when take() may give events again, false at the clean end of the watch, which is to
    // be resumed. errc::lost when it broke, in the middle of an event or between two.
    [[nodiscard]] awaitable<base::result<bool>> more();
    // Both together: the next event, nothing at the clean end.
    [[nodiscard]] awaitable<base::result<std::optional<std::string_view>>> next();

   private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace cotrain::kube
