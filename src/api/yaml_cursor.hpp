// Where a YAML reader is in its text: characters, lines, columns, and the first mistake.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace cotrain::api {

class yaml_cursor {
   public:
    // `text` is valid UTF-8 without NUL.
    explicit yaml_cursor(std::string_view text) : text_(text), p_(text.data()), end_(p_ + text.size()), line_(p_) {}

    [[nodiscard]] char peek(std::size_t ahead = 0) const {
        return static_cast<std::size_t>(end_ - p_) > ahead ? p_[ahead] : '\0';
    }
    [[nodiscard]] bool at_end() const { return p_ == end_; }
    [[nodiscard]] bool at_blank(std::size_t ahead = 0) const { return peek(ahead) == ' ' || peek(ahead) == '\t'; }
    [[nodiscard]] bool at_break(std::size_t ahead = 0) const { return peek(ahead) == '\n' || peek(ahead) == '\r'; }
    // A blank, a line break or the end: what must follow an indicator.
    [[nodiscard]] bool at_gap(std::size_t ahead = 0) const {
        return at_blank(ahead) || at_break(ahead) || peek(ahead) == '\0';
    }
    [[nodiscard]] bool at_indicator(char c) const { return peek() == c && at_gap(1); }
    // "---" or "..." at the start of a line.
    [[nodiscard]] bool at_boundary() const;

    [[nodiscard]] const char* where() const { return p_; }
    [[nodiscard]] std::size_t bytes_left() const { return static_cast<std::size_t>(end_ - p_); }
    [[nodiscard]] int column() const { return static_cast<int>(p_ - line_); }
    [[nodiscard]] const char* line() const { return line_; }
    [[nodiscard]] std::size_t line_number() const { return line_number_; }
    // Whether nothing but spaces precedes this place on its line.
    [[nodiscard]] bool fresh() const { return fresh_; }

    // Over content.
    void advance(std::size_t bytes = 1) {
        p_ += bytes;
        fresh_ = false;
    }
    // Over blanks on this line.
    void skip_blanks() {
        while (at_blank()) ++p_;
    }
    void skip_spaces(int column_max) {
        while (peek() == ' ' && column() < column_max) ++p_;
    }
    // Over a line break.
    void take_break() {
        p_ += peek() == '\r' && peek(1) == '\n' ? 2 : 1;
        line_ = p_;
        ++line_number_;
        fresh_ = true;
    }
    // The rest of the line, without its break.
    [[nodiscard]] std::string_view take_line();
    // Over blanks, comments and line breaks to the next content. In block context tabs may not indent.
    [[nodiscard]] bool skip_to_content(bool flow);

    struct mark {
        const char* p;
        const char* line;
        std::size_t line_number;
        bool fresh;
    };
    [[nodiscard]] mark save() const { return {p_, line_, line_number_, fresh_}; }
    void restore(mark m) {
        p_ = m.p;
        line_ = m.line;
        line_number_ = m.line_number;
        fresh_ = m.fresh;
    }

    // Record a mistake here or elsewhere; always false.
    bool wrong(std::string_view what, base::errc code = base::errc::decode) { return wrong_at(p_, what, code); }
    bool wrong_at(const char* place, std::string_view what, base::errc code = base::errc::decode);
    [[nodiscard]] std::unexpected<base::error> failure() const;

   private:
    std::string_view text_;
    const char* p_;
    const char* end_;
    const char* line_;
    std::size_t line_number_ = 1;
    bool fresh_ = true;
    std::string what_;
    const char* place_ = nullptr;
    base::errc code_ = base::errc::decode;
};

}  // namespace cotrain::api
