// `cotrain operator` as a process of its own: started, listened to, signalled, and never left behind.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/asio.hpp"

namespace cotrain::test {

class operator_child {
   public:
    // `config` is the text of a configuration file; without a kubeconfig it is the API server of the test run.
    operator_child(asio::io_context& loop, std::string config, std::string kubeconfig = {});
    ~operator_child();
    operator_child(const operator_child&) = delete;
    operator_child& operator=(const operator_child&) = delete;

    // Waits for a log line with that text; false when the process ended or the time passed before.
    [[nodiscard]] awaitable<bool> said(std::string text, std::chrono::seconds within = std::chrono::seconds(60));
    void signal(int number) const;
    // Its exit code, or 128 and the signal that ended it; -1 if it has not ended in time.
    [[nodiscard]] awaitable<int> ended(std::chrono::seconds within = std::chrono::seconds(10));
    // Another configuration, which it finds at its next SIGHUP.
    void rewrite(std::string config) const;
    // SIGTERM, then ended().
    [[nodiscard]] awaitable<int> stop();

    [[nodiscard]] pid_t pid() const { return pid_; }
    // All that it has said so far. It goes to a file: nobody has to read along.
    [[nodiscard]] std::string log() const;
    // From the kernel: CPU seconds used so far, resident bytes, and of these the anonymous ones.
    struct usage {
        double cpu_seconds = 0;
        std::size_t resident = 0;
        std::size_t anonymous = 0;
        std::size_t peak = 0;
    };
    [[nodiscard]] usage used() const;

   private:
    [[nodiscard]] bool reap();
    [[nodiscard]] awaitable<void> pause() const;

    asio::io_context& loop_;
    std::string log_file_;
    std::string ports_;  // what was added to the configuration
    std::string config_file_;
    pid_t pid_ = -1;
    int code_ = -1;
};

}  // namespace cotrain::test
