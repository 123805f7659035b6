// Flags of the operator, each seen in what the program says. No cluster is needed for that.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

// A program and what it says on both outputs; it is ended with the object.
class speaking {
   public:
    explicit speaking(std::vector<std::string> words) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::dup2(ends[1], STDERR_FILENO);
            ::execv(argv[0], argv.data());
            ::_exit(127);
        }
        ::close(ends[1]);
        from_ = ends[0];
    }
    ~speaking() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        ::close(from_);
    }
    speaking(const speaking&) = delete;
    speaking& operator=(const speaking&) = delete;

    // Reads until it has said this; false when it ended before, or said nothing for long.
    bool says(const std::string& text) {
        std::array<char, 4096> some{};
        while (!said.contains(text)) {
            pollfd at{.fd = from_, .events = POLLIN, .revents = 0};
            if (::poll(&at, 1, silence_ms_max) != 1) return false;
            const ssize_t n = ::read(from_, some.data(), some.size());
            if (n <= 0) return false;
            said.append(some.data(), static_cast<std::size_t>(n));
        }
        return true;
    }

    std::string said;

   private:
    static constexpr int silence_ms_max = 30'000;
    pid_t pid_ = -1;
    int from_ = -1;
};

class flags : public testing::Test {
   protected:
    flags() {
        place_.write("config.yaml",
                     "webhook: {enabled: false}\nmetrics: {bindAddress: '127.0.0.1:0'}\n"
                     "health: {healthProbeBindAddress: '0'}\ncertManagement: {enable: false}\n"
                     "featureGates: {TrainJobStatus: false, TrainJobTTL: true}\n");
        // Nobody listens there.
        place_.write(
            "kubeconfig.yaml",
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
            "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u, user: {}}]\n");
    }
    [[nodiscard]] std::string at(const std::string& name) const { return place_.path() + "/" + name; }
    [[nodiscard]] speaking run(std::string command, std::vector<std::string> more) const {
        std::vector<std::string> words{COTRAIN_BINARY, std::move(command), "--config=" + at("config.yaml")};
        words.insert(words.end(), more.begin(), more.end());
        return speaking(std::move(words));
    }
    temp_dir place_;
};

TEST_F(flags, each_flag_shows_its_effect) {
    const std::string cluster = "--kubeconfig=" + at("kubeconfig.yaml");
    EXPECT_TRUE(run("config", {}).says("secureServing: true")) << "--config";
    EXPECT_TRUE(run("config", {}).says("TrainJobTTL: true"));
    speaking gates = run("config", {"--feature-gates=TrainJobTTL=false,TrainJobStatus=true"});
    EXPECT_TRUE(gates.says("TrainJobStatus: true"));
    EXPECT_FALSE(gates.says("TrainJobTTL")) << gates.said;
    EXPECT_TRUE(run("operator", {"--kubeconfig", at("nowhere.yaml")}).says("nowhere.yaml")) << "it says which file";
    speaking files = run("operator", {cluster, "--webhook-cert-dir=" + at("certificates")});
    EXPECT_TRUE(files.says("cannot load the certificate files")) << files.said;
    EXPECT_TRUE(files.says(at("certificates") + "/tls.crt")) << files.said;
}

TEST_F(flags, a_log_level_keeps_lines_below_it_out) {
    // A port that somebody has ends the operator with an error.
    speaking first = run("operator", {"--kubeconfig=" + at("kubeconfig.yaml")});
    constexpr std::string_view before = R"("msg":"serving","what":"metrics","port":)";
    ASSERT_TRUE(first.says(std::string(before))) << first.said;
    ASSERT_TRUE(first.says("\"starting operator\"")) << first.said;
    const std::string port = std::to_string(std::stoi(first.said.substr(first.said.find(before) + before.size())));
    place_.write("config.yaml",
                 "webhook: {enabled: false}\nhealth: {healthProbeBindAddress: '0'}\n"
                 "metrics: {bindAddress: '127.0.0.1:" +
                     port + "'}\n");
    for (const bool quiet : {false, true}) {
        std::vector<std::string> more{"--kubeconfig=" + at("kubeconfig.yaml")};
        if (quiet) more.emplace_back("--zap-log-level=error");
        speaking second = run("operator", std::move(more));
        EXPECT_TRUE(second.says("cannot listen on a port")) << second.said;
        EXPECT_FALSE(second.says("never said")) << "it ends";
        EXPECT_EQ(second.said.contains(R"("level":"warn")"), !quiet) << second.said;
        EXPECT_EQ(second.said.contains(R"("level":"info")"), !quiet) << second.said;
    }
}

}  // namespace
}  // namespace cotrain::test
