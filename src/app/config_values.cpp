// Parsing of Go's durations and booleans, and of listen addresses.
#include "app/config_values.hpp"

#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <cmath>

#include "base/number.hpp"

namespace cotrain::app {

namespace {

using std::chrono::milliseconds;

constexpr double duration_ms_max = 1000.0 * 3600 * 24 * 365;

struct unit {
    std::string_view name;
    double ms;
};
// Longer names first: "ms" before "m".
constexpr std::array units{unit{"ns", 1e-6}, unit{"us", 1e-3},  unit{"µs", 1e-3},    unit{"μs", 1e-3},
                           unit{"ms", 1},    unit{"s", 1000.0}, unit{"m", 60'000.0}, unit{"h", 3'600'000.0}};

const unit* take_unit(std::string_view& text) {
    for (const unit& each : units) {
        if (!text.starts_with(each.name)) continue;
        text.remove_prefix(each.name.size());
        return &each;
    }
    return nullptr;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return port;
}

}  // namespace

std::optional<milliseconds> parse_go_duration(std::string_view text) {
    if (text == "0") return milliseconds(0);
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    double total = 0;
    while (!text.empty()) {
        const auto digits = text.find_first_not_of("0123456789.");
        const auto number = text.substr(0, digits);
        double value = 0;
        const auto [end, code] = base::from_chars(number.data(), number.data() + number.size(), value);
        if (code != std::errc{} || end != number.data() + number.size()) return std::nullopt;
        text.remove_prefix(number.size());
        const unit* const of = take_unit(text);
        if (of == nullptr) return std::nullopt;
        total += value * of->ms;
    }
    if (!(total <= duration_ms_max)) return std::nullopt;
    return milliseconds(std::llround(total));
}

std::string to_go_duration(milliseconds duration) {
    if (duration.count() % 1000 != 0) return std::to_string(duration.count()) + "ms";
    return std::to_string(duration.count() / 1000) + "s";
}

std::optional<bool> parse_go_bool(std::string_view text) {
    for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
        if (text == yes) return true;
    for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
        if (text == no) return false;
    return std::nullopt;
}

std::optional<std::string> parse_ip(std::string_view text) {
    if (text == "localhost") return "127.0.0.1";
    boost::system::error_code error;
    boost::asio::ip::make_address(std::string(text), error);
    if (error) return std::nullopt;
    return std::string(text);
}

std::optional<listen_address> parse_listen_address(std::string_view text) {
    if (text == "0") return listen_address{.enabled = false, .host = {}, .port = 0};
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto port = parse_port(text.substr(colon + 1));
    std::string_view host = text.substr(0, colon);
    if (!port) return std::nullopt;
    if (host.empty()) return listen_address{.enabled = true, .host = {}, .port = *port};
    const bool brackets = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
    if (brackets) host = host.substr(1, host.size() - 2);
    if (brackets != (host.find(':') != std::string_view::npos)) return std::nullopt;
    const auto ip = parse_ip(host);
    if (!ip) return std::nullopt;
    return listen_address{.enabled = true, .host = *ip, .port = *port};
}

std::string to_text(const listen_address& address) {
    if (!address.enabled) return "0";
    const bool v6 = address.host.find(':') != std::string::npos;
    return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace cotrain::app
