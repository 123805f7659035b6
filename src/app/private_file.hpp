// Files that only their owner may read: written whole or not at all, removed in time; and claims on who uses a file.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace cotrain::app {

// Through a file beside it that is renamed; mode 0600.
[[nodiscard]] base::result<> write_private_file(const std::string& path, std::string_view text);

// Says to others who ask the same that this process uses a file, whether or not it is there; ends with its holder.
class file_claim {
   public:
    file_claim() = default;
    ~file_claim();
    file_claim(const file_claim&) = delete;
    file_claim& operator=(const file_claim&) = delete;

    // Whether nobody else has it.
    [[nodiscard]] bool take(const std::string& path);

   private:
    int socket_ = -1;
};

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
