// NO_PROXY, with the rules of Go's httpproxy, which kubectl users know.
#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <optional>

#include "net/tcp/proxy.hpp"

namespace cotrain::net::tcp {
namespace {

namespace ip = boost::asio::ip;

std::string lower_trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return out;
}

// IPv4 inside IPv6 counts as IPv4.
std::optional<ip::address> to_address(const std::string& text) {
    boost::system::error_code error;
    const ip::address address = ip::make_address(text, error);
    if (error) return std::nullopt;
    if (address.is_v6() && address.to_v6().is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, address.to_v6());
    return address;
}

template <class Bytes>
bool same_prefix(const Bytes& a, const Bytes& b, unsigned bits) {
    const std::size_t whole = bits / 8;
    if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
    if (bits % 8 == 0) return true;
    const auto mask = static_cast<unsigned char>(0xFFU << (8U - bits % 8));
    return ((a[whole] ^ b[whole]) & mask) == 0;
}

// Whether `entry` is a CIDR range; if so, `inside` tells whether it holds the address.
bool is_range(const std::string& entry, const std::optional<ip::address>& address, bool& inside) {
    const std::size_t slash = entry.find('/');
    if (slash == std::string::npos) return false;
    boost::system::error_code error;
    const ip::address base = ip::make_address(entry.substr(0, slash), error);
    unsigned bits = 0;
    const char* const end = entry.data() + entry.size();
    const auto [rest, bad] = std::from_chars(entry.data() + slash + 1, end, bits);
    if (error || bad != std::errc{} || rest != end || bits > (base.is_v4() ? 32U : 128U)) return false;
    inside = address && address->is_v4() == base.is_v4() &&
             (base.is_v4() ? same_prefix(base.to_v4().to_bytes(), address->to_v4().to_bytes(), bits)
                           : same_prefix(base.to_v6().to_bytes(), address->to_v6().to_bytes(), bits));
    return true;
}

// Takes ":port" off an entry's end; an IPv6 address without brackets has none.
std::string take_port(std::string& entry) {
    const std::size_t colon = entry.rfind(':');
    const bool bracketed = entry.starts_with('[');
    if (colon != std::string::npos && (bracketed ? entry[colon - 1] == ']' : entry.find(':') == colon)) {
        std::string port = entry.substr(colon + 1);
        entry.resize(colon);
        if (bracketed) entry = entry.substr(1, entry.size() - 2);
        return port;
    }
    if (bracketed && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
    return {};
}

bool name_matches(std::string_view entry, std::string_view host) {
    if (entry.starts_with("*.")) entry.remove_prefix(1);
    if (entry.starts_with('.')) return host.ends_with(entry);
    return host == entry ||
           (host.size() > entry.size() && host.ends_with(entry) && host[host.size() - entry.size() - 1] == '.');
}

bool matches(std::string entry, const std::string& host, const std::optional<ip::address>& address,
             std::string_view port) {
    if (entry == "*") return true;
    if (bool inside = false; is_range(entry, address, inside)) return inside;
    const std::string entry_port = take_port(entry);
    if (entry.empty() || (!entry_port.empty() && entry_port != port)) return false;
    if (const auto entry_address = to_address(entry)) return address && *address == *entry_address;
    return !address && name_matches(entry, host);
}

}  // namespace

bool goes_direct(std::string_view host, std::uint16_t port, std::string_view no_proxy) {
    const std::string name = lower_trimmed(host);
    const auto address = to_address(name);
    if (name == "localhost" || (address && address->is_loopback())) return true;
    const std::string port_text = std::to_string(port);
    while (!no_proxy.empty()) {
        const std::string_view entry = no_proxy.substr(0, no_proxy.find(','));
        no_proxy.remove_prefix(std::min(no_proxy.size(), entry.size() + 1));
        if (matches(lower_trimmed(entry), name, address, port_text)) return true;
    }
    return false;
}

base::result<std::optional<proxy>> proxy_for(std::string_view host, std::uint16_t port, std::string_view https_proxy,
                                             std::string_view no_proxy) {
    if (https_proxy.empty() || goes_direct(host, port, no_proxy)) return std::nullopt;
    auto parsed = parse_proxy(https_proxy);
    if (!parsed) return std::unexpected(std::move(parsed.error()).during("HTTPS_PROXY"));
    return std::optional<proxy>(std::move(*parsed));
}

}  // namespace cotrain::net::tcp
