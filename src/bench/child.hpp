// A controller as a process of its own: started, watched, ended with all that it started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/asio.hpp"
#include "base/error.hpp"

namespace cotrain::bench {

struct bench_usage {
    double cpu_seconds = 0;
    double resident_mib = 0;
};

// A directory for temporary files that goes with its holder.
class temporary_directory {
   public:
    temporary_directory() = default;
    ~temporary_directory();
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;

    [[nodiscard]] base::result<> make();
    [[nodiscard]] const std::string& path() const { return path_; }

   private:
    std::string path_;
};

// `text` between quotes for sh.
[[nodiscard]] std::string shell_quoted(std::string_view text);
// {kubeconfig} and {dir} replaced by quoted paths, {port} by a port that is free.
[[nodiscard]] std::string fill_command(std::string command, std::string_view kubeconfig, std::string_view dir);
// A program and what it is called with; the first word is its path.
using bench_words = std::vector<std::string>;
[[nodiscard]] bench_words shell_words(std::string filled_command);
// Those that run our operator, with a configuration in `dir` that takes no port that others may want.
[[nodiscard]] base::result<bench_words> own_words(const std::string& kubeconfig, const std::string& dir);

// Of what a controller says; when there is more, it is forgotten.
inline constexpr std::size_t bench_log_bytes_max = 16UL << 20U;

class bench_child {
   public:
    // In a process group of its own; what it says goes to a file in `dir`. It does not outlive us.
    [[nodiscard]] static base::result<std::unique_ptr<bench_child>> start(bench_words words,
                                                                          const std::string& kubeconfig,
                                                                          const std::string& dir);
    ~bench_child();
    bench_child(const bench_child&) = delete;
    bench_child& operator=(const bench_child&) = delete;

    // When it called exec: what fork takes grows with our own memory.
    [[nodiscard]] std::chrono::steady_clock::time_point began() const { return began_; }
    // Of the process and its descendants.
    [[nodiscard]] bench_usage usage() const;
    // Whether it still runs. To be asked now and then: bounds what it says.
    [[nodiscard]] bool alive();
    // Of what it said; empty: nothing.
    [[nodiscard]] std::string last_line() const;
    // "exit code 1: the last line it said"
    [[nodiscard]] std::string ending() const;
    // SIGTERM, and SIGKILL for what is left of the group after five seconds.
    [[nodiscard]] awaitable<void> stop();

   private:
    bench_child(pid_t pid, std::string log, std::chrono::steady_clock::time_point began)
        : pid_(pid), log_(std::move(log)), began_(began) {}

    pid_t pid_;
    std::string log_;
    std::chrono::steady_clock::time_point began_;
    int status_ = 0;
    bool reaped_ = false;
};

}  // namespace cotrain::bench
