// Running another program for its output: bounded in time and memory, never blocking, never leaking a child.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/asio.hpp"
#include "base/error.hpp"

namespace cotrain::kube::auth {

struct program {
    std::string command;  // a path, or a name that is looked up in PATH
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> environment;  // added to ours, replacing what is there
};

struct process_limits {
    std::chrono::milliseconds timeout{60'000};
    // After the program itself has ended: how long something it left behind may hold its output open.
    std::chrono::milliseconds linger{1'000};
    std::size_t output_bytes_max = 1U << 20U;  // more is an error
    std::size_t errors_bytes_max = 4096;       // more is read and dropped
};

struct process_result {
    int exit_code = 0;  // 128 + n after signal n, as a shell says it
    std::string output;
    std::string errors;
};

// Starts `what` with standard input from /dev/null in a process group of its own and waits for its end. When this
// coroutine is cancelled or the time is over, the whole group is killed. A program that ends with an exit code is a
// result, whatever the code.
[[nodiscard]] awaitable<base::result<process_result>> run_process(program what, process_limits limits);

}  // namespace cotrain::kube::auth
