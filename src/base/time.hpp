// Points in time as Kubernetes writes them: RFC 3339 in UTC.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cotrain::base {

using seconds_time = std::chrono::sys_seconds;                         // metav1.Time
using micros_time = std::chrono::sys_time<std::chrono::microseconds>;  // metav1.MicroTime

// "2026-01-02T03:04:05Z", with any fraction and offset.
[[nodiscard]] std::optional<micros_time> parse_time(std::string_view text);
[[nodiscard]] std::optional<seconds_time> parse_time_seconds(std::string_view text);

[[nodiscard]] std::string format_time(seconds_time t);   // 2026-01-02T03:04:05Z
[[nodiscard]] std::string format_micros(micros_time t);  // 2026-01-02T03:04:05.000006Z

}  // namespace cotrain::base
