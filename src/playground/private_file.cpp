#include "playground/private_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/encoding.hpp"
#include "base/read_file.hpp"

namespace cotrain::playground {

namespace {

constexpr std::size_t kubeconfig_bytes_max = 1024UL * 1024;
// How a kubeconfig of ours is recognised.
constexpr std::string_view our_context_line = "current-context: cotrain\n";

std::unexpected<base::error> failed(const std::string& path) {
    return base::fail(base::errc::invalid, "write " + path + ": " + std::strerror(errno));
}

}  // namespace

base::result<> write_private_file(const std::string& path, std::string_view text) {
    std::string beside = path + ".XXXXXX";
    const int file = ::mkostemp(beside.data(), O_CLOEXEC);
    if (file < 0) return failed(path);
    bool fine = true;
    while (fine && !text.empty()) {
        const ssize_t n = ::write(file, text.data(), text.size());
        fine = n > 0 || (n < 0 && errno == EINTR);
        if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    }
    fine = ::close(file) == 0 && fine && ::rename(beside.c_str(), path.c_str()) == 0;
    if (fine) return {};
    auto out = failed(path);
    ::unlink(beside.c_str());
    return out;
}

base::result<> check_writable(const std::string& path) {
    std::error_code ignored;
    const std::filesystem::path where = std::filesystem::path(path).parent_path();
    if (std::filesystem::is_directory(path, ignored)) return base::fail(base::errc::invalid, path + " is a directory");
    if (::access(where.empty() ? "." : where.c_str(), W_OK | X_OK) == 0) return {};
    return base::fail(base::errc::invalid, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

base::result<> check_kubeconfig(const std::string& path) {
    if (path.empty() || !std::filesystem::exists(path)) return {};
    const auto text = base::read_file(path, kubeconfig_bytes_max);
    if (text && text->contains(our_context_line)) return {};
    return base::fail(base::errc::invalid,
                      fmt::format("--kubeconfig: {} is there and is none of a playground, which would replace it and "
                                  "take it away in the end",
                                  path));
}

std::string write_kubeconfig(const kubeconfig_parts& of) {
    return fmt::format(R"(apiVersion: v1
kind: Config
clusters:
- name: cotrain
  cluster:
    server: {}
    certificate-authority-data: {}
contexts:
- name: cotrain
  context: {{cluster: cotrain, user: {}, namespace: default}}
current-context: cotrain
users:
- name: {}
  user: {{token: {}}}
)",
                       of.server, base::encode_base64(of.ca_pem), of.user, of.user, of.token);
}

file_claim::~file_claim() {
    if (socket_ >= 0) ::close(socket_);
}

// A socket's abstract name is no file: it is gone when the process is, however that ends.
bool file_claim::take(const std::string& path) {
    std::error_code error;
    const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    const auto end = fmt::format_to_n(name.sun_path + 1, sizeof name.sun_path - 1, "cotrain-file-{}-{:016x}",
                                      ::getuid(), std::hash<std::string>{}(whole.string()));
    if (socket_ >= 0) ::close(socket_);
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return true;
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + end.size);
    return ::bind(socket_, reinterpret_cast<const sockaddr*>(&name), size) == 0 || errno != EADDRINUSE;
}

temporary_file::~temporary_file() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

base::result<> temporary_file::write(const std::string& path, std::string_view text) {
    std::string name = path;
    if (name.empty()) {
        std::error_code error;
        name = (std::filesystem::temp_directory_path(error) / ("cotrain-playground-" + std::to_string(::getpid())))
                   .string();
    }
    if (auto done = write_private_file(name, text); !done) return done;
    path_ = name;
    return {};
}

void add_ending_signals(boost::asio::signal_set& to) {
    to.add(SIGINT);
    to.add(SIGTERM);
    struct sigaction before{};
    if (::sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) to.add(SIGHUP);
}

}  // namespace cotrain::playground
