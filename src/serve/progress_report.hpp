// A progress report of a training pod: where it is posted, what it says, what is applied for it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace cotrain::serve {

inline constexpr std::size_t report_bytes_max = 64U << 10U;

// The job that a path is about.
struct reported_job {
    std::string ns;
    std::string name;
};
// Nothing unless the path is that of a job's status.
[[nodiscard]] std::optional<reported_job> job_at(std::string_view path);
// What a token for that job must be made for.
[[nodiscard]] std::string audience_of(const reported_job& job);
// The credential of an Authorization header; empty unless it is one bearer token.
[[nodiscard]] std::string_view bearer_token(std::string_view header);

struct progress_report {
    std::string echo;   // the answer's body
    std::string apply;  // what is applied to the job's status; empty: nothing
};
// Unknown fields are passed over; those we know must be of their type.
[[nodiscard]] base::result<progress_report> read_report(std::string_view body, const reported_job& job);

}  // namespace cotrain::serve
