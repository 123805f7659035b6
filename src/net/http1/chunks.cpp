// Lines byte by byte, data in one piece.
#include "net/http1/chunks.hpp"

#include <algorithm>

namespace cotrain::net::http1 {

namespace {

constexpr int digits_max = 15;  // of a size: no overflow, and more than any limit of ours

int hex_value(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

// What may stand in an extension or a trailer: no control byte but a tab, so that nothing can be hidden behind a line
// end.
bool is_text(char byte) { return byte == '\t' || (static_cast<unsigned char>(byte) >= ' ' && byte != '\x7f'); }

}  // namespace

chunk_reader::outcome chunk_reader::feed(std::string_view bytes, std::string& body, std::size_t body_max,
                                         std::size_t& taken) {
    taken = 0;
    while (!done_ && taken < bytes.size()) {
        if (place_ == place::data) {
            const auto part =
                bytes.substr(taken, static_cast<std::size_t>(std::min<std::uint64_t>(size_, bytes.size())));
            body.append(part);
            taken += part.size();
            size_ -= part.size();
            if (body.size() > body_max) break;
            if (size_ == 0) place_ = place::data_cr;
            continue;
        }
        if (!step(bytes[taken++])) return outcome::malformed;
        if (++overhead_ > overhead_max_) return outcome::overhead;
    }
    return done_ ? outcome::done : outcome::more;
}

bool chunk_reader::size_digit(char byte) {
    const int value = hex_value(byte);
    if (value < 0 || ++digits_ > digits_max) return false;
    size_ = size_ * 16 + static_cast<std::uint64_t>(value);
    return true;
}

bool chunk_reader::step(char byte) {
    const auto on = [&](char wanted, place next) { return byte == wanted ? (place_ = next, true) : false; };
    switch (place_) {
        case place::size:
            if (digits_ != 0 && on('\r', place::size_end)) return true;
            if (digits_ != 0 && (byte == ';' || byte == ' ' || byte == '\t')) return place_ = place::extension, true;
            return size_digit(byte);
        case place::extension: return on('\r', place::size_end) || is_text(byte);
        case place::size_end:
            digits_ = 0;
            if (size_ != 0) overhead_ = 0;
            return on('\n', size_ == 0 ? place::line : place::data);
        case place::data_cr: return on('\r', place::data_lf);
        case place::data_lf: return on('\n', place::size);
        case place::line:
            if (on('\r', place::end)) return true;
            place_ = place::trailer;
            return is_text(byte);
        case place::trailer: return on('\r', place::line_end) || is_text(byte);
        case place::line_end: return on('\n', place::line);
        case place::end: done_ = true; return byte == '\n';
        case place::data: break;
    }
    return false;
}

}  // namespace cotrain::net::http1
