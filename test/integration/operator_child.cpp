// fork, exec, and reading of what it says.
#include "integration/operator_child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "integration/control.hpp"

namespace cotrain::test {

namespace {

using clock = std::chrono::steady_clock;

std::string write_file(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "cotrain-operator-XXXXXX").string();
    const int file = ::mkstemp(name.data());
    if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        throw std::runtime_error("cannot write " + name);
    }
    ::close(file);
    return name;
}

std::string free_port() {
    asio::io_context loop(1);
    const asio::ip::tcp::acceptor any(loop, {asio::ip::address_v4::loopback(), 0});
    return std::to_string(any.local_endpoint().port());
}

// Several operators of one machine must not want the same ports, nor each other's certificates: what a configuration
// that says nothing of these has to say.
std::string missing_ports(const std::string& config) {
    std::string out;
    const auto add = [&](std::string_view section, const std::string& line) {
        if (!config.contains(section)) out.append(line).append("\n");
    };
    add("webhook:", "webhook: {host: 127.0.0.1, port: " + free_port() + "}");
    add("metrics:", "metrics: {bindAddress: '0'}");
    add("health:", "health: {healthProbeBindAddress: '0'}");
    add("certManagement:", "certManagement: {enable: false}");
    return out;
}

// In the child: only calls that are safe after fork.
[[noreturn]] void become(const std::vector<char*>& words, int errors, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(errors, STDERR_FILENO);
    ::execv(words[0], words.data());
    ::_exit(127);
}

}  // namespace

operator_child::operator_child(asio::io_context& loop, std::string config, std::string kubeconfig)
    : loop_(loop),
      log_file_(write_file("")),
      ports_(missing_ports(config)),
      config_file_(write_file(std::move(config) + ports_)) {
    if (kubeconfig.empty()) kubeconfig = test_variable("COTRAIN_TEST_KUBECONFIG");
    // Figures are taken of a release build, which COTRAIN_TEST_BINARY names.
    const char* const other = std::getenv("COTRAIN_TEST_BINARY");
    std::vector<std::string> words{other != nullptr ? other : COTRAIN_BINARY, "operator", "--config=" + config_file_,
                                   "--kubeconfig=" + kubeconfig};
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    const int errors = ::open(log_file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) become(argv, errors, parent);
    ::close(errors);
    if (pid_ < 0) throw std::runtime_error("no process");
}

operator_child::~operator_child() {
    if (!reap()) {
        ::kill(pid_, SIGKILL);
        ::kill(pid_, SIGCONT);
        int status = 0;
        ::waitpid(pid_, &status, 0);
    }
    std::filesystem::remove(config_file_);
    std::filesystem::remove(log_file_);
}

void operator_child::rewrite(std::string config) const { std::ofstream(config_file_) << config + ports_; }

void operator_child::signal(int number) const { ::kill(pid_, number); }

bool operator_child::reap() {
    if (code_ >= 0) return true;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

std::string operator_child::log() const {
    std::ifstream in(log_file_);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

awaitable<void> operator_child::pause() const {
    asio::steady_timer timer(loop_, std::chrono::milliseconds(10));
    co_await timer.async_wait(asio::use_awaitable);
}

awaitable<bool> operator_child::said(std::string text, std::chrono::seconds within) {
    const auto due = clock::now() + within;
    for (;;) {
        const bool over = reap() || clock::now() > due;
        if (log().contains(text)) co_return true;
        if (over) co_return false;
        co_await pause();
    }
}

awaitable<int> operator_child::ended(std::chrono::seconds within) {
    const auto due = clock::now() + within;
    while (!reap() && clock::now() < due) co_await pause();
    co_return code_;
}

awaitable<int> operator_child::stop() {
    signal(SIGTERM);
    co_return co_await ended();
}

operator_child::usage operator_child::used() const {
    usage out;
    const std::string place = "/proc/" + std::to_string(pid_);
    std::ifstream status(place + "/status");
    for (std::string line; std::getline(status, line);) {
        const auto kib = [&](std::string_view name, std::size_t& to) {
            if (line.starts_with(name)) to = 1024 * std::strtoull(line.c_str() + name.size(), nullptr, 10);
        };
        kib("VmRSS:", out.resident);
        kib("RssAnon:", out.anonymous);
        kib("VmHWM:", out.peak);
    }
    std::ifstream stat(place + "/stat");
    std::string text;
    std::getline(stat, text);
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string field;
    double ticks = 0;
    for (int i = 0; i < 13 && fields >> field; ++i)
        if (i >= 11) ticks += std::strtod(field.c_str(), nullptr);
    out.cpu_seconds = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
    return out;
}

}  // namespace cotrain::test
