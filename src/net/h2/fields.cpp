// Outgoing headers: checked, and in the shape that the library takes.
#include <cstring>

#include "net/h2/core.hpp"

namespace cotrain::net::h2 {

namespace {

nghttp2_nv field(std::string_view name, std::string_view value, bool sensitive, int flags) {
    nghttp2_nv nv;
    // The library's struct predates const; it does not write.
    nv.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data()));
    nv.value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data()));
    nv.namelen = name.size();
    nv.valuelen = value.size();
    nv.flags = static_cast<std::uint8_t>(flags | (sensitive ? NGHTTP2_NV_FLAG_NO_INDEX : 0));
    return nv;
}

bool sendable_name(std::string_view name) {
    return !name.empty() && name.front() != ':' &&
           nghttp2_check_header_name(reinterpret_cast<const std::uint8_t*>(name.data()), name.size()) != 0;
}

}  // namespace

nghttp2_nv borrowed_field(std::string_view name, std::string_view value, bool sensitive) {
    return field(name, value, sensitive, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE);
}

nghttp2_nv copied_field(std::string_view name, std::string_view value, bool sensitive) {
    return field(name, value, sensitive, NGHTTP2_NV_FLAG_NONE);
}

// No control bytes: a line break in a value would split headers behind a proxy that speaks HTTP/1.1. Eight bytes at
// a time, since every request pays for it; a tab is refused too, which no header of ours needs.
bool sendable_value(std::string_view value) {
    constexpr std::uint64_t ones = 0x0101010101010101U;
    constexpr std::uint64_t highs = 0x8080808080808080U;
    std::uint64_t bad = 0;
    std::size_t at = 0;
    for (; at + 8 <= value.size(); at += 8) {
        std::uint64_t word;
        std::memcpy(&word, value.data() + at, 8);
        const std::uint64_t del = word ^ (ones * 0x7f);
        bad |= (word - ones * 0x20) & ~word;
        bad |= (del - ones) & ~del;
    }
    bad &= highs;
    for (; at < value.size(); ++at) {
        const auto c = static_cast<unsigned char>(value[at]);
        bad |= static_cast<std::uint64_t>(c < 0x20 || c == 0x7f);
    }
    return bad == 0;
}

std::optional<base::error> unsendable(const header_list& headers, std::size_t bytes_already, std::size_t bytes_max) {
    std::size_t bytes = bytes_already;
    for (const header& h : headers) {
        bytes += counted_bytes(h.name, h.value);
        if (!sendable_name(h.name))
            return base::make_error(base::errc::invalid,
                                    "header name \"" + base::one_line(h.name, 64) +
                                        "\" cannot be sent: use lower-case letters, digits and dashes");
        if (!sendable_value(h.value))
            return base::make_error(
                base::errc::invalid,
                "header " + h.name + " has a control character (a line break?) in its value: remove it");
    }
    if (bytes <= bytes_max) return std::nullopt;
    return base::make_error(base::errc::too_large, "the headers take " + std::to_string(bytes) + " bytes, more than " +
                                                       std::to_string(bytes_max) + " (header_list_bytes_max)");
}

}  // namespace cotrain::net::h2
