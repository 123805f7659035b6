// The events of one watch as they arrive: one JSON object a line, handed out without copying where it lies whole.
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
