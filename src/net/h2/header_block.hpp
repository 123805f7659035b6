// Collects one incoming header block under the bounds of a session. Blocks never interleave on a connection, so a
// session needs one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/h2/session.hpp"
#include "net/http.hpp"

namespace cotrain::net::h2 {

// The size of a header as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113, 6.5.2).
[[nodiscard]] constexpr std::size_t counted_bytes(std::string_view name, std::string_view value) {
    return name.size() + value.size() + 32;
}

class header_block {
   public:
    header_block(std::uint32_t bytes_max, std::uint32_t headers_max)
        : bytes_max_(bytes_max), headers_max_(headers_max) {}

    void begin();
    // A header of which nothing is kept.
    void pass_over(std::string_view name, std::string_view value) { bytes_ += counted_bytes(name, value); }
    // False once a bound is exceeded; from then on nothing more is kept.
    bool add(std::string_view name, std::string_view value, bool sensitive);
    [[nodiscard]] bool over() const { return over_; }
    // What was decoded, kept or not.
    [[nodiscard]] std::size_t decoded_bytes() const { return bytes_; }
    [[nodiscard]] int status() const { return message_.status; }

    [[nodiscard]] head take_head() { return std::move(message_); }
    [[nodiscard]] header_list take_trailers() { return std::move(message_.headers); }

   private:
    void add_pseudo(std::string_view name, std::string_view value);

    std::uint32_t bytes_max_;
    std::uint32_t headers_max_;
    std::size_t bytes_ = 0;
    std::uint32_t count_ = 0;
    bool over_ = false;
    head message_;
};

}  // namespace cotrain::net::h2
