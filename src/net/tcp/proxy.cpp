// Proxy URLs, CONNECT requests and their answers.
#include "net/tcp/proxy.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>

namespace cotrain::net::tcp {
namespace {

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

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) return std::nullopt;
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    return out;
}

std::string base64(std::string_view bytes) {
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
    const int size =
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                        reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    out.resize(static_cast<std::size_t>(size));
    return out;
}

// "user:password", still percent-encoded, as the value of Proxy-Authorization.
base::result<std::string> basic(std::string_view user_info) {
    if (user_info.size() > credentials_bytes_max) return invalid("user and password are too long");
    const std::size_t colon = user_info.find(':');
    const auto user = percent_decoded(user_info.substr(0, colon));
    const auto password =
        percent_decoded(colon == std::string_view::npos ? std::string_view{} : user_info.substr(colon + 1));
    if (!user || !password) return invalid("user or password has a '%' without two hexadecimal digits");
    return "Basic " + base64(*user + ":" + *password);
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
