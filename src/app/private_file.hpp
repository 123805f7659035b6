// Files that only their owner may read: written as a whole or not at all, removed when their time is over.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace cotrain::app {

// Through a file beside it that is renamed; mode 0600.
[[nodiscard]] base::result<> write_private_file(const std::string& path, std::string_view text);

// A file that goes with its holder. With an empty name it gets one in the directory for temporary files.
class temporary_file {
   public:
    temporary_file() = default;
    ~temporary_file();
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;

    [[nodiscard]] base::result<> write(const std::string& path, std::string_view text);
    [[nodiscard]] const std::string& path() const { return path_; }

   private:
    std::string path_;
};

}  // namespace cotrain::app
