// Warnings that the API server sends beside an answer (RFC 9110's Warning header, code 299), each logged once.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/log.hpp"
#include "net/http.hpp"

namespace cotrain::kube {

inline constexpr std::size_t warnings_of_one_answer_max = 16;
inline constexpr std::size_t warning_bytes_max = 512;
inline constexpr std::size_t warnings_remembered_max = 256;  // different ones; further ones are not logged

// The texts of code 299; other codes and malformed headers are skipped.
[[nodiscard]] std::vector<std::string> read_warnings(const net::header_list& headers);

class warning_log {
   public:
    explicit warning_log(base::logger& log) : log_(log) {}
    void note(const net::header_list& headers, std::string_view attempt);

   private:
    base::logger& log_;
    std::unordered_set<std::string> seen_;
};

}  // namespace cotrain::kube
