// A file whose content is followed: read again when asked, the last good content kept when that fails.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/log.hpp"

namespace cotrain::kube::auth {

class file_source {
   public:
    file_source() = default;
    file_source(std::string path, std::size_t bytes_max) : path_(std::move(path)), bytes_max_(bytes_max) {}

    [[nodiscard]] bool used() const { return !path_.empty(); }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::string& content() const { return content_; }

    // Reads; true if the content changed. Empty files and unreadable ones are errors and change nothing.
    [[nodiscard]] base::result<bool> read();
    // The same for running operation: an error is logged when it is new, and counts as no change.
    [[nodiscard]] bool follow(base::logger& log);

   private:
    std::string path_;
    std::size_t bytes_max_ = 0;
    std::string content_;
    bool failing_ = false;
};

}  // namespace cotrain::kube::auth
