// The one place that translates HTTP/2's and nghttp2's codes into ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "net/h2/slot.hpp"

namespace cotrain::net::h2 {

// The wire's error codes that we use (RFC 9113, 7).
enum class wire_code : std::uint32_t {
    no_error = 0,
    protocol_error = 1,
    internal_error = 2,
    refused_stream = 7,
    cancel = 8,
    enhance_your_calm = 11
};

// "REFUSED_STREAM"; "code 99" for one that has no name.
[[nodiscard]] std::string code_name(std::uint32_t code);

// What a failed library call means for the connection, and which code the peer gets.
struct breach {
    base::error why;
    std::uint32_t code;
};
[[nodiscard]] breach breach_of(int library_error);
// A GOAWAY that the library sends because of what the peer did.
[[nodiscard]] breach breach_of_goaway(std::uint32_t code, std::string_view reason);
// A peer that does `what` too often.
[[nodiscard]] breach flood_of(std::string_view what);
// The library's words for a broken frame; they live for ever.
[[nodiscard]] const char* words_of(int library_error);

// How a stream that the library closes with `code` has ended.
[[nodiscard]] ending ending_of(role as, const slot& s, std::uint32_t code);
[[nodiscard]] std::string detail_of(const slot& s, ending how, std::uint32_t code);

}  // namespace cotrain::net::h2
