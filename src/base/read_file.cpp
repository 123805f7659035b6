// Opening without blocking, so that a FIFO nobody writes to cannot hang us.
#include "base/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cotrain::base {

namespace {

class descriptor {
   public:
    explicit descriptor(int fd) : fd_(fd) {}
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    [[nodiscard]] int get() const { return fd_; }

   private:
    int fd_;
};

std::unexpected<error> refuse(const std::string& path, std::string_view why) {
    return fail(errc::invalid, fmt::format("cannot read {}: {}", one_line(path, 256), why));
}

std::string text_of(int code) { return ::strerror(code); }

bool readable_in_time(int fd) {
    pollfd wait{fd, POLLIN, 0};
    return ::poll(&wait, 1, static_cast<int>(pipe_wait_max.count())) > 0;
}

}  // namespace

result<std::string> read_file(const std::string& path, std::size_t bytes_max, bool* missing) {
    if (missing != nullptr) *missing = false;
    const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) {
        if (missing != nullptr) *missing = errno == ENOENT || errno == ENOTDIR;
        return refuse(path, text_of(errno));
    }
    struct stat facts{};
    if (::fstat(file.get(), &facts) == 0 && S_ISDIR(facts.st_mode)) return refuse(path, "is a directory");
    std::string content;
    char piece[16 * 1024];
    for (;;) {
        const ssize_t n = ::read(file.get(), piece, sizeof piece);
        if (n == 0) return content;
        if (n > 0) {
            content.append(piece, static_cast<std::size_t>(n));
            if (content.size() > bytes_max) return refuse(path, fmt::format("is larger than {} bytes", bytes_max));
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return refuse(path, text_of(errno));
        if (!readable_in_time(file.get())) return refuse(path, "nothing came out of the pipe in time");
    }
}

}  // namespace cotrain::base
