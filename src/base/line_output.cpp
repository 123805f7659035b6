// Asks for room before each write.
#include "base/line_output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/log.hpp"

namespace cotrain::base {

namespace {

// A pipe or socket that poll() calls writable takes so many bytes at once (pipe(7): a free buffer is a page).
constexpr std::size_t piece_bytes_max = 4096;

bool has_room(int descriptor) {
    pollfd at{.fd = descriptor, .events = POLLOUT, .revents = 0};
    return ::poll(&at, 1, 0) == 1 && (at.revents & POLLOUT) != 0;
}

std::string notice(std::uint64_t lines) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return format_line(std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), level::warn,
                       "log lines were lost: nobody read them", {{"lines", static_cast<std::int64_t>(lines)}});
}

}  // namespace

void line_output::write(std::string_view line) {
    if (!flush() || !tell_lost() || !begin(line)) ++lost_;
}

// Whether there is room for more behind it.
bool line_output::tell_lost() {
    if (lost_ == 0) return true;
    if (!begin(notice(lost_))) return false;
    lost_ = 0;
    return pending_.empty();
}

bool line_output::begin(std::string_view line) {
    pending_ = line;
    if (flush() || pending_.size() < line.size()) return true;
    pending_.clear();
    return false;
}

bool line_output::flush() {
    std::size_t done = 0;
    while (done < pending_.size() && has_room(descriptor_)) {
        const std::size_t piece = std::min(pending_.size() - done, piece_bytes_max);
        const ssize_t n = ::write(descriptor_, pending_.data() + done, piece);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
    }
    pending_.erase(0, done);
    return pending_.empty();
}

}  // namespace cotrain::base
