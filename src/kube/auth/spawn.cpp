// posix_spawn with its attributes: own group, no signals blocked or ignored, no descriptors of ours.
#include "kube/auth/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace cotrain::kube::auth {

file_handle::~file_handle() {
    if (fd_ >= 0) ::close(fd_);
}

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

}  // namespace

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

}  // namespace cotrain::kube::auth
