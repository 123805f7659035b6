// Starting a child process with pipes on its output: the part that talks to the kernel.
#pragma once

#include <sys/types.h>

#include <utility>

#include "base/error.hpp"
#include "kube/auth/process.hpp"

namespace cotrain::kube::auth {

class file_handle {
   public:
    file_handle() = default;
    explicit file_handle(int fd) : fd_(fd) {}
    file_handle(file_handle&& other) noexcept : fd_(other.release()) {}
    file_handle& operator=(file_handle&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~file_handle();

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }

   private:
    int fd_ = -1;
};

struct spawned {
    pid_t pid = -1;
    file_handle output;
    file_handle errors;
};

// The caller must reap `pid`, which leads a process group of its own.
[[nodiscard]] base::result<spawned> spawn(const program& what);

}  // namespace cotrain::kube::auth
