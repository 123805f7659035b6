// fork, exec and pipes for the playground and for commands against it.
#include "integration/operator_sim_child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "integration/control.hpp"

namespace cotrain::test {

namespace {

int wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Starts it with both streams in the pipe whose reading end is returned.
int start(const std::vector<std::string>& words, pid_t* child) {
    std::vector<char*> argv;
    for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    std::array<int, 2> out{};
    if (::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const pid_t parent = ::getpid();
    *child = ::fork();
    if (*child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(127);
        ::dup2(out[1], STDOUT_FILENO);
        ::dup2(out[1], STDERR_FILENO);
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }
    ::close(out[1]);
    if (*child < 0) throw std::runtime_error("no process");
    return out[0];
}

// How long a process that has ended, and is still to be waited for, had work and no processor.
std::chrono::nanoseconds waited_for_processor(pid_t ended) {
    siginfo_t about{};
    if (::waitid(P_PID, static_cast<id_t>(ended), &about, WEXITED | WNOWAIT) != 0)
        throw std::runtime_error("no such child");
    std::ifstream in("/proc/" + std::to_string(ended) + "/schedstat");
    std::int64_t ran = 0, waited = 0;
    if (!(in >> ran >> waited)) throw std::runtime_error("the kernel keeps no schedstat");
    return std::chrono::nanoseconds(waited);
}

// Reads until the text is there, or to the end.
bool read_until(int from, std::string& into, std::string_view text) {
    std::array<char, 4096> buffer{};
    while (text.empty() || !into.contains(text)) {
        const ssize_t n = ::read(from, buffer.data(), buffer.size());
        if (n <= 0) return false;
        into.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return true;
}

}  // namespace

playground_child::playground_child(std::vector<std::string> options) {
    std::vector<std::string> words{COTRAIN_BINARY, "playground", "--kubeconfig", kubeconfig()};
    words.insert(words.end(), options.begin(), options.end());
    out_ = start(words, &pid_);
    if (!read_until(out_, said_, "Ctrl-C ends it")) throw std::runtime_error("the playground ended: " + said_);
}

playground_child::~playground_child() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        wait_for(pid_);
    }
    ::close(out_);
}

std::string playground_child::page() const {
    const std::size_t from = said_.find("http://");
    return from == std::string::npos ? std::string{} : said_.substr(from, said_.find('\n', from) - from);
}

int playground_child::stop() {
    ::kill(pid_, SIGINT);
    static_cast<void>(read_until(out_, said_, {}));
    const int code = wait_for(pid_);
    pid_ = -1;
    return code;
}

finished run_shell(const playground_child& in, const std::string& command) {
    const std::filesystem::path bin = std::filesystem::path(test_variable("COTRAIN_TEST_CRDS")).parent_path() / "bin";
    const std::string setting = "export KUBECONFIG='" + in.kubeconfig() + "' PATH='" + bin.string() +
                                "':\"$PATH\" HOME='" + in.directory() + "' T='" + in.directory() + "'; cd '" +
                                COTRAIN_SOURCE_DIR + "'; ";
    return run_shell(setting + command);
}

finished run_shell(const std::string& command) {
    finished out;
    pid_t child = -1;
    const auto begun = std::chrono::steady_clock::now();
    const int from = start({"bash", "-c", command}, &child);
    static_cast<void>(read_until(from, out.output, {}));
    ::close(from);
    const std::chrono::nanoseconds waited = waited_for_processor(child);
    out.took = std::chrono::steady_clock::now() - begun - waited;
    out.code = wait_for(child);
    return out;
}

}  // namespace cotrain::test
