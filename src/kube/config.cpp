// Taking a server's URL apart.
#include "kube/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cotrain::kube {

namespace {

std::unexpected<base::error> fault(std::string_view text, std::string_view what) {
    return base::fail(base::errc::invalid, fmt::format("\"{}\" {}", base::one_line(text, 120), what));
}

bool visible(char c) { return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f; }

bool host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == ':';
}

// Splits "host", "host:port" and "[address]:port"; false if it is none of them.
bool split_authority(std::string_view authority, server_url& url, std::string_view& port) {
    if (authority.starts_with('[')) {
        const std::size_t end = authority.find(']');
        if (end == std::string_view::npos) return false;
        url.host = authority.substr(1, end - 1);
        authority.remove_prefix(end + 1);
        if (!authority.empty() && authority.front() != ':') return false;
        port = authority.empty() ? std::string_view{} : authority.substr(1);
        return authority.size() != 1 && url.host.contains(':');
    }
    const std::size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view{} : authority.substr(colon + 1);
    return colon != authority.size() - 1 && !port.contains(':');
}

}  // namespace

base::result<server_url> parse_server_url(std::string_view text, bool tls_by_default) {
    const std::string_view whole = text;
    if (!std::ranges::all_of(text, visible)) return fault(whole, "contains a space or a control character");
    server_url url;
    url.scheme = tls_by_default ? "https" : "http";
    if (const std::size_t mark = text.find("://"); mark != std::string_view::npos) {
        url.scheme = text.substr(0, mark);
        text.remove_prefix(mark + 3);
    }
    if (url.scheme != "https" && url.scheme != "http")
        return fault(whole, "has a scheme that is neither https nor http");
    if (text.find_first_of("?#") != std::string_view::npos) return fault(whole, "may not have a query or a fragment");
    const std::size_t slash = text.find('/');
    const std::string_view authority = text.substr(0, slash);
    if (authority.contains('@')) return fault(whole, "may not contain a user: put credentials under users");
    if (!authority.starts_with('[') && std::ranges::count(authority, ':') > 1)
        return fault(whole, "has an IPv6 address without brackets: write https://[address]:port");
    if (authority.empty() || authority.starts_with(':')) return fault(whole, "has no host: write https://host:port");
    std::string_view port;
    if (!split_authority(authority, url, port)) return fault(whole, "is not of the form https://host:port");
    if (!std::ranges::all_of(url.host, host_character)) return fault(whole, "has a host that is no name or address");
    url.port = url.scheme == "https" ? 443 : 80;
    if (!port.empty()) {
        const auto [end, bad] = std::from_chars(port.data(), port.data() + port.size(), url.port);
        if (bad != std::errc{} || end != port.data() + port.size() || url.port == 0)
            return fault(whole, "has a port that is not between 1 and 65535");
    }
    if (slash != std::string_view::npos) url.base_path = text.substr(slash);
    while (url.base_path.ends_with('/')) url.base_path.pop_back();
    return url;
}

}  // namespace cotrain::kube
