// The authorities of clients from a file, read again and again: a volume changes under a running process.
#pragma once

#include <chrono>
#include <string>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/task_group.hpp"
#include "serve/served_certificate.hpp"

namespace cotrain::serve {

class client_authorities {
   public:
    client_authorities(asio::any_io_executor executor, served_certificate& serving, std::string file, base::logger& log,
                       std::chrono::milliseconds look_every = std::chrono::seconds(5));

    // Without the file nobody may be served: an error, which names it. Later the last good one stays in use.
    [[nodiscard]] base::result<> start();
    [[nodiscard]] awaitable<void> stop();
    [[nodiscard]] base::result<> look();

   private:
    [[nodiscard]] awaitable<void> follow();

    served_certificate& serving_;
    std::string file_;
    base::logger& log_;
    std::chrono::milliseconds look_every_;
    std::string told_;  // the trouble that was told last: once is enough
    base::task_group tasks_;
};

}  // namespace cotrain::serve
