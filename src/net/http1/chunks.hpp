// A chunked body as it arrives: RFC 9112, 7.1. Cut at any byte it means the same, because no byte is looked at twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cotrain::net::http1 {

class chunk_reader {
   public:
    // One chunk's size with its extension, or all trailers: they are of no use to us, so a peer gets no more than this.
    explicit chunk_reader(std::size_t overhead_max) : overhead_max_(overhead_max) {}

    enum class outcome : std::uint8_t { more, done, malformed, overhead };

    // Appends data to `body` and takes bytes up to the end of the body, of the input, or to where `body` has more than
    // `body_max`; the caller looks at its size.
    [[nodiscard]] outcome feed(std::string_view bytes, std::string& body, std::size_t body_max, std::size_t& taken);

   private:
    enum class place : std::uint8_t { size, extension, size_end, data, data_cr, data_lf, line, trailer, line_end, end };

    [[nodiscard]] bool step(char byte);
    [[nodiscard]] bool size_digit(char byte);

    std::size_t overhead_max_;
    std::size_t overhead_ = 0;
    std::uint64_t size_ = 0;
    int digits_ = 0;
    place place_ = place::size;
    bool done_ = false;
};

}  // namespace cotrain::net::http1
