// Moving through YAML text.
#include "api/yaml_cursor.hpp"

#include "api/text_scan.hpp"

namespace cotrain::api {

bool yaml_cursor::at_boundary() const {
    if (p_ != line_ || !at_gap(3)) return false;
    const char c = peek();
    return (c == '-' || c == '.') && peek(1) == c && peek(2) == c;
}

std::string_view yaml_cursor::take_line() {
    const char* const begin = p_;
    while (p_ != end_ && !at_break()) ++p_;
    fresh_ = false;
    return {begin, static_cast<std::size_t>(p_ - begin)};
}

bool yaml_cursor::skip_to_content(bool flow) {
    for (;;) {
        while (peek() == ' ' || (peek() == '\t' && (flow || !fresh_))) ++p_;
        if (peek() == '\t') return wrong("a tab cannot be used for indentation");
        if (peek() == '#') {
            while (p_ != end_ && !at_break()) ++p_;
        }
        if (!at_break()) return true;
        take_break();
    }
}

bool yaml_cursor::wrong_at(const char* place, std::string_view what, base::errc code) {
    place_ = place;
    what_ = what;
    code_ = code;
    return false;
}

std::unexpected<base::error> yaml_cursor::failure() const {
    const auto [line, column] = position_of(text_, static_cast<std::size_t>(place_ - text_.data()));
    return base::fail(code_, "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what_);
}

}  // namespace cotrain::api
