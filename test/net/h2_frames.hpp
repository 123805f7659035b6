// HTTP/2 frames made by hand, for what no well-behaved session would send.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace cotrain::net::h2::raw {

enum type : std::uint8_t {
    data = 0,
    headers = 1,
    priority = 2,
    rst_stream = 3,
    settings = 4,
    push_promise = 5,
    ping = 6,
    goaway = 7,
    window_update = 8,
    continuation = 9
};
inline constexpr std::uint8_t end_stream = 1, ack = 1, end_headers = 4;
inline constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline std::string number(std::uint64_t value, int bytes) {
    std::string out;
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
    return out;
}

inline std::string frame(type kind, std::uint8_t flags, std::uint32_t stream, std::string_view payload = {}) {
    std::string out = number(static_cast<std::uint32_t>(payload.size()), 3);
    out.push_back(static_cast<char>(kind));
    out.push_back(static_cast<char>(flags));
    out.append(number(stream, 4)).append(payload);
    return out;
}

inline std::string hpack_length(std::size_t n) {
    std::string out;
    if (n < 127) {
        out.push_back(static_cast<char>(n));
        return out;
    }
    out.push_back(127);
    for (n -= 127; n >= 128; n /= 128) out.push_back(static_cast<char>(n % 128 + 128));
    out.push_back(static_cast<char>(n));
    return out;
}

// HPACK: literal, not indexed, no Huffman.
inline std::string field(std::string_view name, std::string_view value) {
    std::string out(1, '\0');
    out.append(hpack_length(name.size())).append(name).append(hpack_length(value.size())).append(value);
    return out;
}

inline std::string fields(std::initializer_list<std::pair<std::string_view, std::string_view>> list) {
    std::string out;
    for (const auto& [name, value] : list) out += field(name, value);
    return out;
}

inline std::string get(std::string_view path = "/") {
    return fields({{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}, {":path", path}});
}

// How either end begins.
inline std::string client_hello() { return std::string(preface) + frame(settings, 0, 0); }
inline std::string server_hello(std::uint32_t streams_max = 100) {
    return frame(settings, 0, 0, number(3, 2) + number(streams_max, 4));
}
inline std::string reset(std::uint32_t stream, std::uint32_t code) {
    return frame(rst_stream, 0, stream, number(code, 4));
}
inline std::string away(std::uint32_t last_stream, std::uint32_t code, std::string_view debug = {}) {
    return frame(goaway, 0, 0, number(last_stream, 4) + number(code, 4) + std::string(debug));
}

// The type of each frame in what a session sends, after the client's preface if there is one.
inline std::string types_of(std::string_view bytes) {
    if (bytes.starts_with(preface)) bytes.remove_prefix(preface.size());
    std::string out;
    while (bytes.size() >= 9) {
        const auto at = [&](int i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
        const std::size_t length = at(0) << 16U | at(1) << 8U | at(2);
        out.push_back(static_cast<char>('0' + at(3)));
        bytes.remove_prefix(std::min(bytes.size(), 9 + length));
    }
    return out;
}

// The code of the last GOAWAY in what a session sends, or -1.
inline std::int64_t goaway_code(std::string_view bytes) {
    if (bytes.starts_with(preface)) bytes.remove_prefix(preface.size());
    std::int64_t code = -1;
    while (bytes.size() >= 9) {
        const auto at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
        const std::size_t length = at(0) << 16U | at(1) << 8U | at(2);
        if (at(3) == goaway && bytes.size() >= 17)
            code = static_cast<std::int64_t>(at(13) << 24U | at(14) << 16U | at(15) << 8U | at(16));
        bytes.remove_prefix(std::min(bytes.size(), 9 + length));
    }
    return code;
}

}  // namespace cotrain::net::h2::raw
