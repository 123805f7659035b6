#include "kube/auth/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/signal.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)
namespace cotrain::kube::auth {

class file_handle {
   public:
    file_handle() = default;
    explicit file_handle(int fd) : fd_(fd) {}
    file_handle(file_handle&& other) noexcept : fd_(other.release()) {}
    file_handle& operator=(file_handle&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~file_handle();

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }

   private:
    int fd_ = -1;
};

struct spawned {
    pid_t pid = -1;
    file_handle output;
    file_handle errors;
};

// The caller must reap `pid`, which leads a process group of its own.
[[nodiscard]] base::result<spawned> spawn(const program& what);

using boost::system::error_code;

namespace {

struct file_actions {
    posix_spawn_file_actions_t native{};
    file_actions() { ::posix_spawn_file_actions_init(&native); }
    ~file_actions() { ::posix_spawn_file_actions_destroy(&native); }
    file_actions(const file_actions&) = delete;
    file_actions& operator=(const file_actions&) = delete;
};

struct attributes {
    posix_spawnattr_t native{};
    attributes() {
        ::posix_spawnattr_init(&native);
        sigset_t none;
        sigset_t all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&native, &none);
        ::posix_spawnattr_setsigdefault(&native, &all);
        ::posix_spawnattr_setpgroup(&native, 0);
        ::posix_spawnattr_setflags(&native, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    ~attributes() { ::posix_spawnattr_destroy(&native); }
    attributes(const attributes&) = delete;
    attributes& operator=(const attributes&) = delete;
};

// Ours, without what `added` replaces, then `added`.
std::vector<std::string> environment_of(const program& what) {
    std::vector<std::string> all;
    for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
        const std::string_view entry(*one);
        const std::string_view name = entry.substr(0, entry.find('='));
        bool replaced = false;
        for (const auto& added : what.environment) replaced = replaced || added.first == name;
        if (!replaced) all.emplace_back(entry);
    }
    for (const auto& [name, value] : what.environment) all.push_back(name + "=" + value);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

base::result<> make_pipe(file_handle& reader, file_handle& writer) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return base::fail(base::errc::internal, fmt::format("pipe: {}", ::strerror(errno)));
    reader = file_handle(ends[0]);
    writer = file_handle(ends[1]);
    return {};
}

// What is read from one pipe.
struct intake {
    asio::posix::stream_descriptor pipe;
    std::string text;
    std::size_t bytes_max;
    bool overflow = false;
    bool ended = false;
    std::array<char, 16UL * 1024> piece{};

    intake(const asio::any_io_executor& executor, std::size_t most) : pipe(executor), bytes_max(most) {}
};

// Kept alive by its pending operations; the coroutine that waits may go at any time.
struct child : std::enable_shared_from_this<child> {
    child(const asio::any_io_executor& executor, const process_limits& bounds)
        : limits(bounds),
          output(executor, bounds.output_bytes_max),
          errors(executor, bounds.errors_bytes_max),
          exit(executor),
          timer(executor) {}
    ~child() { kill_and_reap(); }
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    base::result<> start(const program& what);
    void read(intake& from);
    void on_read(intake& from, const error_code& failure, std::size_t bytes);
    void on_exit();
    void on_timer();
    // Kills the group and ends all waits but the one that reaps.
    void abandon();

    process_limits limits;
    intake output;
    intake errors;
    asio::posix::stream_descriptor exit;  // readable when the child has ended
    asio::steady_timer timer;
    base::signal changed;
    pid_t pid = -1;  // until it is reaped
    std::optional<int> exit_code;
    bool timed_out = false;
    bool abandoned = false;

   private:
    void kill_and_reap();
    void reap();
};

void child::reap() {
    int how = 0;
    if (pid <= 0 || ::waitpid(pid, &how, WNOHANG) != pid) return;
    pid = -1;
    exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

void child::kill_and_reap() {
    if (pid > 0) ::kill(-pid, SIGKILL);
    reap();
}

void child::abandon() {
    abandoned = true;
    kill_and_reap();
    error_code ignored;
    output.pipe.close(ignored);
    errors.pipe.close(ignored);
    timer.cancel();
}

base::result<> child::start(const program& what) {
    auto started = spawn(what);
    if (!started) return base::fail(std::move(started).error());
    pid = started->pid;
    output.pipe.assign(started->output.release());
    errors.pipe.assign(started->errors.release());
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd < 0) {
        const int why = errno;
        ::kill(-pid, SIGKILL);
        ::waitpid(std::exchange(pid, -1), nullptr, 0);
        return base::fail(base::errc::internal, fmt::format("pidfd_open: {}", ::strerror(why)));
    }
    exit.assign(fd);
    read(output);
    read(errors);
    exit.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& failure) {
        if (!failure) self->on_exit();
    });
    timer.expires_after(limits.timeout);
    timer.async_wait([self = shared_from_this()](const error_code& failure) {
        if (!failure) self->on_timer();
    });
    return {};
}

void child::read(intake& from) {
    from.pipe.async_read_some(asio::buffer(from.piece),
                              [self = shared_from_this(), &from](const error_code& failure, std::size_t bytes) {
                                  self->on_read(from, failure, bytes);
                              });
}

void child::on_read(intake& from, const error_code& failure, std::size_t bytes) {
    if (failure) {
        from.ended = true;
        return changed.notify();
    }
    const std::size_t room = from.bytes_max - from.text.size();
    from.text.append(from.piece.data(), std::min(bytes, room));
    if (bytes > room && !std::exchange(from.overflow, true)) changed.notify();
    if (from.pipe.is_open()) read(from);
}

void child::on_exit() {
    reap();
    if (abandoned) return;
    timer.expires_after(limits.linger);
    timer.async_wait([self = shared_from_this()](const error_code& failure) {
        if (!failure) self->on_timer();
    });
    changed.notify();
}

void child::on_timer() {
    timed_out = true;
    changed.notify();
}

struct abandon_on_exit {
    std::shared_ptr<child> what;
    ~abandon_on_exit() { what->abandon(); }
};

}  // namespace

file_handle::~file_handle() {
    if (fd_ >= 0) ::close(fd_);
}

base::result<spawned> spawn(const program& what) {
    spawned started;
    file_handle output;
    file_handle errors;
    if (auto ok = make_pipe(started.output, output); !ok) return base::fail(std::move(ok).error());
    if (auto ok = make_pipe(started.errors, errors); !ok) return base::fail(std::move(ok).error());
    file_actions actions;
    ::posix_spawn_file_actions_addopen(&actions.native, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions.native, output.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions.native, errors.get(), STDERR_FILENO);
#ifdef __GLIBC__
    // Sockets made by Asio are inheritable: a plugin must not hold our connections.
    ::posix_spawn_file_actions_addclosefrom_np(&actions.native, STDERR_FILENO + 1);
#endif
    const attributes how;
    std::vector<std::string> arguments{what.command};
    arguments.insert(arguments.end(), what.arguments.begin(), what.arguments.end());
    std::vector<std::string> environment = environment_of(what);
    const int failure = ::posix_spawnp(&started.pid, what.command.c_str(), &actions.native, &how.native,
                                       pointers(arguments).data(), pointers(environment).data());
    if (failure == ENOENT)
        return base::fail(base::errc::auth, what.command.contains('/') ? "no such program" : "not found in PATH");
    if (failure != 0) return base::fail(base::errc::auth, fmt::format("cannot be started: {}", ::strerror(failure)));
    return started;
}

awaitable<base::result<process_result>> run_process(program what, process_limits limits) {
    const auto started = std::make_shared<child>(co_await asio::this_coro::executor, limits);
    const abandon_on_exit guard{started};
    child& c = *started;
    if (auto ok = c.start(what); !ok) co_return base::fail(std::move(ok).error());
    while (!(c.exit_code && c.output.ended && c.errors.ended) && !c.timed_out && !c.output.overflow)
        if (!co_await c.changed.wait()) co_return base::fail(base::errc::canceled, "given up while it ran");
    if (c.output.overflow)
        co_return base::fail(base::errc::too_large,
                             fmt::format("it printed more than {} bytes", limits.output_bytes_max));
    if (!c.exit_code)
        co_return base::fail(base::errc::deadline,
                             fmt::format("it did not end within {} s: {}", limits.timeout.count() / 1000,
                                         base::one_line(c.errors.text, 256)));
    co_return process_result{*c.exit_code, std::move(c.output.text), std::move(c.errors.text)};
}

}  // namespace cotrain::kube::auth
