// Files that only their owner may read, claims on files, and signals that end a program.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace cotrain::playground {

// Through a file beside it that is renamed; mode 0600.
[[nodiscard]] base::result<> write_private_file(const std::string& path, std::string_view text);

// Whether a file can be written there…
[[nodiscard]] base::result<> check_writable(const std::string& path);
// …and a kubeconfig of ours without taking something away. An empty name is fine.
[[nodiscard]] base::result<> check_kubeconfig(const std::string& path);

struct kubeconfig_parts {
    std::string_view server;
    std::string_view ca_pem;
    std::string_view user;
    std::string_view token;
};
[[nodiscard]] std::string write_kubeconfig(const kubeconfig_parts& of);

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

// Which signals end a command that a person has started in a terminal.

// Ctrl-C, kill, and the terminal's end, unless that is to be ignored (nohup).
void add_ending_signals(boost::asio::signal_set& to);

}  // namespace cotrain::playground
