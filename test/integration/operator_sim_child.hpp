// `cotrain playground` as a process of its own: started, asked for what it printed, ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace cotrain::test {

class playground_child {
   public:
    // Returns when it says how to end it; throws with what it said if it ends before.
    explicit playground_child(std::vector<std::string> options);
    ~playground_child();
    playground_child(const playground_child&) = delete;
    playground_child& operator=(const playground_child&) = delete;

    [[nodiscard]] const std::string& said() const { return said_; }
    [[nodiscard]] const std::string& directory() const { return directory_.path(); }
    [[nodiscard]] std::string kubeconfig() const { return directory_.path("kubeconfig"); }
    [[nodiscard]] pid_t pid() const { return pid_; }
    // The page's address, as printed.
    [[nodiscard]] std::string page() const;
    // SIGINT; its exit code, or 128 and the signal that ended it.
    int stop();

   private:
    temp_dir directory_;
    std::string said_;
    pid_t pid_ = -1;
    int out_ = -1;
};

struct finished {
    int code = 0;
    std::string output;  // both streams
    // From its start to its end, without the time that its first thread could run and had no processor: what a busy
    // machine makes longer. A command that begins with exec is told by itself, not by its shell.
    std::chrono::nanoseconds took{};
};
// A command of bash, with KUBECONFIG set and kubectl in the PATH.
[[nodiscard]] finished run_shell(const playground_child& in, const std::string& command);
[[nodiscard]] finished run_shell(const std::string& command);

}  // namespace cotrain::test
