// What the API server says of a request: Status errors, Retry-After, and Warning headers.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/http.hpp"

namespace cotrain::kube {

inline constexpr std::size_t status_bytes_max = 1U << 20U;  // larger bodies are quoted, not decoded
inline constexpr std::size_t status_message_bytes_max = 1024;
inline constexpr std::size_t status_causes_max = 8;  // kept of a longer list

struct status_cause {
    std::string field;  // ".spec.replicas"
    std::string message;
    std::string reason;
};

// metav1.Status, the part that is used.
struct status {
    bool success = false;
    int code = 0;
    std::string reason;  // "Conflict", "AlreadyExists", …
    std::string message;
    std::string name;  // of the object …
    std::string kind;  // … and its kind or resource, as the server calls it
    std::string uid;
    std::vector<status_cause> causes;
    std::optional<std::chrono::seconds> retry_after;
};

// An error when `body` is not a JSON object of kind Status.
[[nodiscard]] base::result<status> read_status(std::string_view body);

// Seconds of a Retry-After header; its other form, a date, counts as absent.
[[nodiscard]] std::optional<std::chrono::milliseconds> read_retry_after(const net::header_list& headers);

// An answer that is not 2xx as an error: "<attempt>: 409 Conflict: …". Bodies of proxies, which are no Status, are
// quoted in one short line.
[[nodiscard]] base::error status_error(std::string_view attempt, int http_status, const net::header_list& headers,
                                       std::string_view body);
// The same for a Status that came inside a watch.
[[nodiscard]] base::error status_error(std::string_view attempt, const status& said);

// Warnings that the API server sends beside an answer (RFC 9110's Warning header, code 299), each logged once.

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
