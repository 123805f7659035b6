// Requests and responses as values, the same for HTTP/2 and HTTP/1.1.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cotrain::net {

struct header {
    std::string name;  // lower case
    std::string value;
    bool sensitive = false;  // never indexed by HPACK, never logged
};
using header_list = std::vector<header>;

// The first header of that (lower-case) name, or an empty view.
[[nodiscard]] inline std::string_view find_header(const header_list& headers, std::string_view name) {
    for (const header& each : headers)
        if (each.name == name) return each.value;
    return {};
}

// Who goes first when streams run out: a lease renewal before watches, watches before everything else.
enum class priority : std::uint8_t { lease, watch, read, write };

struct request {
    std::string method = "GET";
    std::string path;
    header_list headers;
    std::string body;
    priority rank = priority::read;
    // Whether it may be repeated when nobody knows if the peer processed it.
    bool idempotent = false;
    // From the moment it is handed over, waiting for a stream and for a connection included.
    std::chrono::milliseconds deadline{30'000};
    // None of its bytes go out later, whatever happened in between: a process may be frozen.
    std::chrono::steady_clock::time_point latest = std::chrono::steady_clock::time_point::max();
};

struct response {
    int status = 0;
    header_list headers;
    std::string body;
    header_list trailers;
};

}  // namespace cotrain::net
