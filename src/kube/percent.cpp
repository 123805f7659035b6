// The encodings: path segments keep ':' and '@', header names RFC 9110's tokens, queries only unreserved characters.
#include "kube/percent.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace cotrain::kube {

namespace {

// Every request asks for a few hundred bytes.
constexpr auto unreserved_bytes = [] {
    std::array<bool, 256> all{};
    for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"))
        all[static_cast<unsigned char>(c)] = true;
    return all;
}();

bool unreserved(char c) { return unreserved_bytes[static_cast<unsigned char>(c)]; }

void append_encoded(std::string& out, char c, std::string_view hex = "0123456789ABCDEF") {
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += hex[byte >> 4U];
    out += hex[byte & 0xFU];
}

// What is plain goes in runs: most texts are one.
template <class Plain>
void append_runs(std::string& out, std::string_view text, Plain plain) {
    while (!text.empty()) {
        const auto end = std::ranges::find_if_not(text, plain);
        out.append(text.begin(), end);
        text = {end, text.end()};
        if (text.empty()) break;
        append_encoded(out, text.front());
        text.remove_prefix(1);
    }
}

}  // namespace

void append_segment(std::string& out, std::string_view segment) {
    append_runs(out, segment, [](char c) { return unreserved(c) || c == ':' || c == '@'; });
}

void append_header_name(std::string& out, std::string_view name) {
    for (const char c : name) {
        if (unreserved(c) || std::string_view("!#$&'*+^`|").contains(c))
            out += c;
        else
            append_encoded(out, c, "0123456789abcdef");  // HTTP/2 knows no upper case in names
    }
}

void query_writer::add(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    path_ += first_ ? '?' : '&';
    first_ = false;
    path_.append(key);
    path_ += '=';
    append_runs(path_, value, unreserved);
}

void query_writer::add(std::string_view key, long long value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    add(key, std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

}  // namespace cotrain::kube
