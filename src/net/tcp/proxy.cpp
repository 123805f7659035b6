#include "net/tcp/proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <optional>

#include "base/encoding.hpp"

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

constexpr std::size_t url_bytes_max = 4096;
constexpr std::size_t credentials_bytes_max = 1024;
constexpr std::size_t host_bytes_max = 255;
constexpr std::size_t reason_bytes_max = 200;

std::unexpected<base::error> invalid(std::string_view why) {
    return base::fail(base::errc::invalid, fmt::format("proxy URL: {}", why));
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return out;
}

// "user:password", still percent-encoded, as the value of Proxy-Authorization.
base::result<std::string> basic(std::string_view user_info) {
    if (user_info.size() > credentials_bytes_max) return invalid("user and password are too long");
    const std::size_t colon = user_info.find(':');
    const auto user = base::decode_percent(user_info.substr(0, colon));
    const auto password =
        base::decode_percent(colon == std::string_view::npos ? std::string_view{} : user_info.substr(colon + 1));
    if (!user || !password) return invalid("user or password has a '%' without two hexadecimal digits");
    return "Basic " + base::encode_base64(*user + ":" + *password);
}

base::result<address> parse_where(std::string_view text) {
    address where{.host = {}, .port = 80};
    std::string_view port;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return invalid("'[' without ']'");
        where.host = text.substr(1, end - 1);
        port = text.substr(end + 1);
    } else {
        const std::size_t colon = text.find(':');
        where.host = text.substr(0, colon);
        if (colon != std::string_view::npos) port = text.substr(colon);
    }
    const auto printable = [](char c) { return c > 0x20 && c < 0x7f; };
    if (where.host.empty()) return invalid("the host is missing");
    if (where.host.size() > host_bytes_max || !std::ranges::all_of(where.host, printable))
        return invalid("the host is no name or address");
    if (port.empty() || port == ":") return where;
    const char* const end = port.data() + port.size();
    const auto [rest, error] = std::from_chars(port.data() + 1, end, where.port);
    if (port.front() != ':' || error != std::errc{} || rest != end || where.port == 0)
        return invalid("the port is no number from 1 to 65535");
    return where;
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

base::result<proxy> parse_proxy(std::string_view url) {
    if (url.size() > url_bytes_max) return invalid("it is too long");
    std::string scheme = "http";
    if (const std::size_t mark = url.find("://"); mark != std::string_view::npos) {
        scheme = lower(url.substr(0, mark));
        url.remove_prefix(mark + 3);
    }
    if (scheme == "https")
        return invalid(
            "https:// proxies are not supported; give an http:// one (what passes through it is TLS anyway)");
    if (scheme.starts_with("socks")) return invalid("SOCKS proxies are not supported; give an http:// one");
    if (scheme != "http") return invalid("its scheme is not http://");
    url = url.substr(0, url.find_first_of("/?#"));
    proxy parsed;
    if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) {
        auto authorization = basic(url.substr(0, at));
        if (!authorization) return std::unexpected(std::move(authorization.error()));
        parsed.authorization = std::move(*authorization);
        url.remove_prefix(at + 1);
    }
    auto where = parse_where(url);
    if (!where) return std::unexpected(std::move(where.error()));
    parsed.where = std::move(*where);
    return parsed;
}

std::string to_text(const address& where) {
    if (where.host.find(':') != std::string::npos) return fmt::format("[{}]:{}", where.host, where.port);
    return fmt::format("{}:{}", where.host, where.port);
}

std::string connect_request(const address& peer, const proxy& via) {
    const std::string target = to_text(peer);
    std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", target);
    if (!via.authorization.empty()) request += fmt::format("Proxy-Authorization: {}\r\n", via.authorization);
    return request + "\r\n";
}

base::result<std::size_t> connect_answer::feed(std::string_view bytes) {
    constexpr std::string_view protocol = "HTTP/1.";
    std::size_t used = 0;
    while (used < bytes.size() && !complete_) {
        const char c = bytes[used++];
        if (++head_bytes_ > head_bytes_max)
            return base::fail(base::errc::too_large,
                              fmt::format("its answer has more than {} KiB of headers", head_bytes_max / 1024));
        if (c == '\n') {
            if (auto ok = end_line(); !ok) return std::unexpected(std::move(ok.error()));
            continue;
        }
        line_.push_back(c);
        if (status_ == 0 && line_.size() <= protocol.size() && !protocol.starts_with(line_)) {
            const std::string_view rest = bytes.substr(used - 1);
            return base::fail(base::errc::protocol,
                              fmt::format("it does not answer in HTTP/1 but with '{}'",
                                          base::one_line(line_ + std::string(rest.substr(1)), 40)));
        }
    }
    return used;
}

base::result<> connect_answer::end_line() {
    if (line_.ends_with('\r')) line_.pop_back();
    const std::string line = std::exchange(line_, {});
    if (status_ != 0) {
        if (!line.empty()) return {};
        complete_ = status_ >= 200;
        status_ = 0;  // after an informational answer comes the real one
        return {};
    }
    // "HTTP/1.1 200 whatever"
    const char* const code = line.data() + 9;
    if (line.size() < 12 || line[8] != ' ' || std::from_chars(code, code + 3, status_).ptr != code + 3 ||
        status_ < 100 || (line.size() > 12 && line[12] != ' '))
        return base::fail(base::errc::protocol, fmt::format("it answered '{}'", base::one_line(line, 40)));
    if (status_ < 300) return {};
    const std::string said = base::one_line(std::string_view(line).substr(9), reason_bytes_max);
    if (status_ == 407)
        return base::fail(base::errc::auth, fmt::format("it wants user and password (http://user:password@host:port) "
                                                        "or refuses those it was given: {}",
                                                        said));
    const base::retry again = status_ >= 500 ? base::retry::later : base::retry::never;
    return base::fail(base::make_error(base::errc::connect, again, fmt::format("it refuses: {}", said)));
}

}  // namespace cotrain::net::tcp
