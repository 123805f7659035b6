// External certificates: tls.crt and tls.key of a directory, read again while they change.
#pragma once

#include <chrono>
#include <string>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/task_group.hpp"
#include "serve/served_certificate.hpp"

namespace cotrain::serve {

// A volume of a Secret changes both files at once, by a link; who writes them one by one gets a second chance at the
// next look.
class certificate_files {
   public:
    certificate_files(asio::any_io_executor executor, served_certificate& serving, std::string directory,
                      base::logger& log, std::chrono::milliseconds look_every = std::chrono::seconds(5));

    void start();
    [[nodiscard]] awaitable<void> stop();
    // One look; the error names the file.
    [[nodiscard]] base::result<> look();
    // ca.crt, which may be missing: empty then.
    [[nodiscard]] const std::string& authority() const { return authority_; }

   private:
    [[nodiscard]] awaitable<void> follow();

    served_certificate& serving_;
    std::string directory_;
    base::logger& log_;
    std::chrono::milliseconds look_every_;
    std::string authority_;
    std::string told_;  // the trouble that was told last: once is enough
    base::task_group tasks_;
};

}  // namespace cotrain::serve
