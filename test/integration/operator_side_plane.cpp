// The launcher of the run, started once more.
#include "integration/operator_side_plane.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "integration/control.hpp"

namespace cotrain::test {

namespace {

// Blocks until the launcher says that it is ready, or ends.
bool read_ready(int from) {
    std::string said;
    std::array<char, 512> buffer{};
    while (!said.contains('\n')) {
        const ssize_t n = ::read(from, buffer.data(), buffer.size());
        if (n <= 0) return false;
        said.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return said.starts_with("ready");
}

}  // namespace

side_plane::side_plane(plane what, std::vector<std::string> more) {
    const std::string crds = test_variable("COTRAIN_TEST_CRDS");
    const char* const version = what == plane::of_run ? std::getenv("COTRAIN_TEST_KUBERNETES") : nullptr;
    const std::filesystem::path beside = std::filesystem::path(crds).parent_path() / (version ? version : "bin");
    const std::string launcher = (beside / "controlplane").string();
    std::vector<std::string> words{launcher, "up", "--dir", dir_.path(), "--lifeline-stdin"};
    if (what == plane::complete) words.insert(words.end(), {"--with", "kcm", "--crds", crds});
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
        ::dup2(in[0], STDIN_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    lifeline_ = in[1];
    const bool ready = read_ready(out[0]);
    ::close(out[0]);
    if (!ready) throw std::runtime_error("the second control plane did not start: " + launcher);
}

side_plane::~side_plane() {
    ::close(lifeline_);  // it ends when its standard input does
    int status = 0;
    ::waitpid(pid_, &status, 0);
}

}  // namespace cotrain::test
