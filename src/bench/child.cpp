// fork, exec, and /proc.
#include "bench/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/read_file.hpp"
#include "playground/private_file.hpp"

namespace cotrain::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto end_within = 5s;
constexpr auto look_pause = 5ms;
constexpr std::size_t said_bytes_max = 4096;
constexpr std::size_t processes_max = 1024;  // of one controller

// Of a file of /proc, split at white space; none if it is gone. Streams would bring in a library of locales.
std::vector<std::string> words_in(std::string_view text) {
    std::vector<std::string> out;
    constexpr std::string_view gap = " \n";
    for (std::size_t at = 0; (at = text.find_first_not_of(gap, at)) != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(gap, at), text.size());
        out.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return out;
}

std::string read_proc(const std::string& path) {
    constexpr std::size_t proc_bytes_max = 64UL << 10U;
    return base::read_file(path, proc_bytes_max).value_or(std::string());
}

// The fields of /proc/PID/stat behind the name, which may hold anything: 0 is the state.
std::vector<std::string> stat_fields(pid_t pid) {
    const std::string text = read_proc(fmt::format("/proc/{}/stat", pid));
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return {};
    return words_in(std::string_view(text).substr(name_end + 1));
}

void add_usage(pid_t pid, bench_usage& sum, std::size_t& left) {
    constexpr std::size_t user_time = 11, system_time = 12, resident_pages = 21;
    if (left == 0) return;
    --left;
    const auto fields = stat_fields(pid);
    if (fields.size() <= resident_pages) return;
    const double ticks =
        std::strtod(fields[user_time].c_str(), nullptr) + std::strtod(fields[system_time].c_str(), nullptr);
    sum.cpu_seconds += ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
    sum.resident_mib += std::strtod(fields[resident_pages].c_str(), nullptr) *
                        static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0);
    for (const std::string& each : words_in(read_proc(fmt::format("/proc/{0}/task/{0}/children", pid))))
        add_usage(static_cast<pid_t>(std::strtol(each.c_str(), nullptr, 10)), sum, left);
}

using clock = std::chrono::steady_clock;

// In the child: only calls that are safe after fork.
[[noreturn]] void become(char* const* words, char* const* environment, int out, int tell, pid_t parent) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    const clock::time_point now = clock::now();
    if (::write(tell, &now, sizeof now) != sizeof now) ::_exit(127);
    ::execve(words[0], words, environment);
    ::_exit(127);
}

// Comes when the child is about to call exec, or has failed before.
clock::time_point told_time(int from) {
    clock::time_point when = clock::now();
    ssize_t got = 0;
    do got = ::read(from, &when, sizeof when);
    while (got < 0 && errno == EINTR);
    return got == sizeof when ? when : clock::now();
}

std::uint16_t free_port() {
    asio::io_context loop(1);
    boost::system::error_code error;
    asio::ip::tcp::acceptor any(loop);
    any.open(asio::ip::tcp::v4(), error);
    if (!error) any.bind({asio::ip::address_v4::loopback(), 0}, error);
    return error ? std::uint16_t{0} : any.local_endpoint(error).port();
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
}

}  // namespace

temporary_directory::~temporary_directory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

base::result<> temporary_directory::make() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "cotrain-bench-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
        return base::fail(base::errc::invalid, fmt::format("no directory for temporary files: {}",
                                                           error ? error.message() : std::strerror(errno)));
    path_ = std::move(name);
    return {};
}

std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string fill_command(std::string command, std::string_view kubeconfig, std::string_view dir) {
    replace_all(command, "{kubeconfig}", shell_quoted(kubeconfig));
    replace_all(command, "{dir}", shell_quoted(dir));
    if (command.contains("{port}")) replace_all(command, "{port}", fmt::format("{}", free_port()));
    return command;
}

bench_words shell_words(std::string filled_command) { return {"/bin/sh", "-c", std::move(filled_command)}; }

base::result<bench_words> own_words(const std::string& kubeconfig, const std::string& dir) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return base::fail(base::errc::internal, "/proc/self/exe: " + error.message());
    const std::string config = dir + "/config.yaml";
    auto done = playground::write_private_file(config, fmt::format("apiVersion: config.trainer.kubeflow.org/v1alpha1\n"
                                                                   "kind: Configuration\n"
                                                                   "webhook: {{host: 127.0.0.1, port: {}}}\n"
                                                                   "metrics: {{bindAddress: \"0\"}}\n"
                                                                   "health: {{healthProbeBindAddress: \"0\"}}\n"
                                                                   "certManagement: {{enable: false}}\n",
                                                                   free_port()));
    if (!done) return base::fail(std::move(done.error()));
    return bench_words{program.string(), "operator", "--kubeconfig=" + kubeconfig, "--config=" + config};
}

base::result<std::unique_ptr<bench_child>> bench_child::start(bench_words words, const std::string& kubeconfig,
                                                              const std::string& dir) {
    std::string log = dir + "/said";
    std::vector<std::string> settings{"KUBECONFIG=" + kubeconfig};
    for (char** each = environ; *each != nullptr; ++each)
        if (!std::string_view(*each).starts_with("KUBECONFIG=")) settings.emplace_back(*each);
    const auto pointers = [](std::vector<std::string>& all) {
        std::vector<char*> out;
        for (std::string& each : all) out.push_back(each.data());
        out.push_back(nullptr);
        return out;
    };
    const std::vector<char*> argv = pointers(words), environment = pointers(settings);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (out < 0) return base::fail(base::errc::invalid, fmt::format("{}: {}", log, std::strerror(errno)));
    int tell[2] = {-1, -1};
    const pid_t parent = ::getpid();
    const pid_t pid = ::pipe2(tell, O_CLOEXEC) == 0 ? ::fork() : -1;
    if (pid == 0) become(argv.data(), environment.data(), out, tell[1], parent);
    const int error = errno;
    ::close(out);
    if (tell[1] >= 0) ::close(tell[1]);
    const clock::time_point began = pid > 0 ? told_time(tell[0]) : clock::time_point{};
    if (tell[0] >= 0) ::close(tell[0]);
    if (pid < 0) return base::fail(base::errc::invalid, fmt::format("fork: {}", std::strerror(error)));
    ::setpgid(pid, pid);
    return std::unique_ptr<bench_child>(new bench_child(pid, std::move(log), began));
}

bench_child::~bench_child() {
    if (alive()) {
        ::kill(-pid_, SIGKILL);
        ::waitpid(pid_, &status_, 0);
    }
}

bench_usage bench_child::usage() const {
    bench_usage sum;
    std::size_t left = processes_max;
    if (!reaped_) add_usage(pid_, sum, left);
    return sum;
}

bool bench_child::alive() {
    // It appends: what it says next is at the start of an empty file.
    std::error_code gone;
    if (const auto size = std::filesystem::file_size(log_, gone); !gone && size > bench_log_bytes_max)
        std::filesystem::resize_file(log_, 0, gone);
    if (!reaped_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
    return !reaped_;
}

std::string bench_child::last_line() const {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(log_.c_str(), "rbe"), std::fclose);
    if (!in) return {};
    std::fseek(in.get(), 0, SEEK_END);
    std::fseek(in.get(), std::max(0L, std::ftell(in.get()) - static_cast<long>(said_bytes_max)), SEEK_SET);
    std::string said(said_bytes_max, 0);
    said.resize(std::fread(said.data(), 1, said.size(), in.get()));
    while (!said.empty() && said.back() == '\n') said.pop_back();
    const std::size_t last = said.rfind('\n');
    return base::one_line(said.substr(last == std::string::npos ? 0 : last + 1), said_bytes_max);
}

std::string bench_child::ending() const {
    std::string out = WIFEXITED(status_) ? fmt::format("exit code {}", WEXITSTATUS(status_))
                                         : fmt::format("signal {}", WTERMSIG(status_));
    if (const std::string said = last_line(); !said.empty()) out += ": " + said;
    return out;
}

awaitable<void> bench_child::stop() {
    // Its group, even if it is gone itself: it may have left others behind.
    ::kill(-pid_, SIGTERM);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto until = std::chrono::steady_clock::now() + end_within;
    while (alive() && std::chrono::steady_clock::now() < until) {
        timer.expires_after(look_pause);
        co_await timer.async_wait(use_tuple);
    }
    ::kill(-pid_, SIGKILL);
    if (!reaped_) {
        ::waitpid(pid_, &status_, 0);
        reaped_ = true;
    }
}

}  // namespace cotrain::bench
