// Single values as Go programs spell them in configurations and flags: durations, booleans, listen addresses.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cotrain::app {

// Where a server listens.
struct listen_address {
    bool enabled = true;
    std::string host{};  // an IP address without brackets; empty: all interfaces
    std::uint16_t port = 0;
    bool operator==(const listen_address&) const = default;
};

// "1h2m3.5s", "300ms": to whole milliseconds. Nothing for anything else, negative and unbelievably long ones.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_go_duration(std::string_view text);
[[nodiscard]] std::string to_go_duration(std::chrono::milliseconds duration);

// true, TRUE, True, t, T, 1 and their opposites.
[[nodiscard]] std::optional<bool> parse_go_bool(std::string_view text);

// "[HOST]:PORT" with an IP address or localhost, IPv6 in brackets; "0" is a server that is turned off.
[[nodiscard]] std::optional<listen_address> parse_listen_address(std::string_view text);
[[nodiscard]] std::string to_text(const listen_address& address);
// An IP address without brackets; `localhost` becomes 127.0.0.1.
[[nodiscard]] std::optional<std::string> parse_ip(std::string_view text);

}  // namespace cotrain::app
