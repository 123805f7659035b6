#include "net/h2/bounds.hpp"

#include <algorithm>

namespace cotrain::net::h2 {

namespace {

// An API server's answer has eight to ten headers: one allocation instead of four.
constexpr std::size_t usual_headers = 12;

int parse_status(std::string_view digits) {
    int status = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9' || status > 99) return 0;
        status = status * 10 + (c - '0');
    }
    return status;
}

}  // namespace

void token_bucket::refill(std::uint64_t seconds) {
    const std::uint64_t missing = burst_ - tokens_;
    // Compared before multiplying: a long silence must not overflow.
    const bool full = per_second_ != 0 && seconds >= (missing + per_second_ - 1) / per_second_;
    tokens_ += static_cast<std::uint32_t>(full ? missing : std::min(missing, seconds * per_second_));
}

void flood_guard::tick(std::uint64_t now_s) {
    if (ticked_ && now_s > now_s_) {
        resets_.refill(now_s - now_s_);
        idle_.refill(now_s - now_s_);
    }
    if (!ticked_ || now_s > now_s_) now_s_ = now_s;
    ticked_ = true;
}

void header_block::begin() {
    message_ = head{};
    bytes_ = 0;
    count_ = 0;
    over_ = false;
}

bool header_block::add(std::string_view name, std::string_view value, bool sensitive) {
    bytes_ += counted_bytes(name, value);
    if (over_) return false;
    if (++count_ > headers_max_ || bytes_ > bytes_max_) {
        over_ = true;
        message_ = head{};
        return false;
    }
    if (!name.empty() && name.front() == ':') {
        add_pseudo(name, value);
        return true;
    }
    if (message_.headers.empty()) message_.headers.reserve(usual_headers);
    message_.headers.push_back({std::string(name), std::string(value), sensitive});
    return true;
}

void header_block::add_pseudo(std::string_view name, std::string_view value) {
    if (name == ":status") {
        message_.status = parse_status(value);
    } else if (name == ":method") {
        message_.method = value;
    } else if (name == ":path") {
        message_.path = value;
    } else if (name == ":scheme") {
        message_.scheme = value;
    } else if (name == ":authority") {
        message_.authority = value;
    }
}

}  // namespace cotrain::net::h2
