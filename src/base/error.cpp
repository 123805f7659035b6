// Names of error codes and the shaping of error messages.
#include "base/error.hpp"

namespace cotrain::base {

std::string_view to_string(errc code) {
    switch (code) {
        case errc::canceled: return "canceled";
        case errc::deadline: return "deadline exceeded";
        case errc::connect: return "cannot connect";
        case errc::lost: return "connection lost";
        case errc::tls: return "TLS error";
        case errc::protocol: return "protocol error";
        case errc::refused: return "refused before processing";
        case errc::too_large: return "too large";
        case errc::status: return "refused by the API server";
        case errc::decode: return "cannot be decoded";
        case errc::invalid: return "invalid input";
        case errc::auth: return "no usable credentials";
        case errc::internal: return "internal error";
    }
    return "unknown error";
}

error error::during(std::string_view attempt) && {
    std::string whole;
    whole.reserve(attempt.size() + 2 + message.size());
    whole.append(attempt).append(": ").append(message);
    message = std::move(whole);
    return std::move(*this);
}

namespace {

retry retry_of(errc code) {
    switch (code) {
        case errc::connect:
        case errc::refused: return retry::later;
        case errc::lost:
        case errc::deadline: return retry::idempotent;
        default: return retry::never;
    }
}

// Length of the longest prefix of `text` that is at most `bytes_max` long and ends between characters.
std::size_t utf8_prefix(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) return text.size();
    std::size_t end = bytes_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return end;
}

}  // namespace

error make_error(errc code, std::string message) { return make_error(code, retry_of(code), std::move(message)); }

error make_error(errc code, retry again, std::string message) {
    error e;
    e.code = code;
    e.again = again;
    e.message = std::move(message);
    return e;
}

std::string one_line(std::string_view text, std::size_t bytes_max) {
    constexpr std::string_view ellipsis = "…";
    const bool cut = text.size() > bytes_max;
    const std::size_t room = cut && bytes_max >= ellipsis.size() ? bytes_max - ellipsis.size() : bytes_max;
    std::string line(text.substr(0, utf8_prefix(text, room)));
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    if (cut && bytes_max >= ellipsis.size()) line.append(ellipsis);
    return line;
}

}  // namespace cotrain::base
