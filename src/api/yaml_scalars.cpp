// Reading YAML scalars, with their rules for folding lines.
#include "api/yaml_scalars.hpp"

#include <algorithm>

#include "api/text_scan.hpp"

namespace cotrain::api {

namespace {

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

}  // namespace

// One line break is a space, each further one a newline.
void yaml_scalars::fold(std::size_t breaks) {
    if (breaks == 1) {
        scratch_ += ' ';
    } else {
        scratch_.append(breaks - 1, '\n');
    }
}

bool yaml_scalars::ends_plain(bool flow) const {
    const char c = c_.peek();
    if (c == ':') return c_.at_gap(1);
    return flow && (c == ',' || c == '?' || c == '[' || c == ']' || c == '{' || c == '}');
}

// Over line breaks and the next line's indentation.
bool yaml_scalars::plain_breaks(int column_min, std::size_t& breaks) {
    breaks = 0;
    while (c_.at_break()) {
        c_.take_break();
        ++breaks;
        c_.skip_spaces(column_min);
        if (c_.peek() == '\t' && c_.column() < column_min) return c_.wrong("a tab cannot be used for indentation");
        c_.skip_blanks();
    }
    return true;
}

bool yaml_scalars::plain(int column_min, bool flow, yaml_scalar& out) {
    out = {.text = {}, .plain = true, .multi_line = false};
    yaml_cursor::mark last = c_.save();
    std::size_t breaks = 0;
    for (;;) {
        if (c_.at_boundary() || c_.peek() == '#' || ends_plain(flow)) break;
        const char* const run = c_.where();
        const char* run_end = run;
        while (!c_.at_end() && !c_.at_break() && !ends_plain(flow)) {
            while (!c_.at_gap() && !ends_plain(flow)) c_.advance();
            run_end = c_.where();
            c_.skip_blanks();
            if (c_.peek() == '#' && c_.where() != run_end) break;
            if (run_end == c_.where() && ends_plain(flow)) break;
        }
        if (breaks == 0) {
            out.text = between(run, run_end);
        } else {
            if (!out.multi_line) scratch_ = out.text;
            out.multi_line = true;
            fold(breaks);
            scratch_ += between(run, run_end);
        }
        const auto here = c_.save();
        last = {run_end, here.line, here.line_number, false};
        if (!c_.at_break()) break;
        if (!plain_breaks(column_min, breaks)) return false;
        if (c_.at_end() || (!flow && c_.column() < column_min)) break;
    }
    c_.restore(last);
    if (out.multi_line) out.text = memory_.copy(scratch_);
    return true;
}

bool yaml_scalars::single_quoted(yaml_scalar& out) {
    const char* const open = c_.where();
    out = {};
    scratch_.clear();
    c_.advance();
    const char* run = c_.where();
    bool copied = false;
    for (;;) {
        if (c_.at_end()) return c_.wrong_at(open, "the string that starts here has no end");
        if (c_.peek() == '\'') {
            scratch_ += copied ? between(run, c_.where()) : std::string_view{};
            if (c_.peek(1) != '\'') break;
            if (!copied) scratch_ = between(run, c_.where());
            copied = true;
            scratch_ += '\'';
            c_.advance(2);
            run = c_.where();
        } else if (c_.at_blank() || c_.at_break()) {
            const char* const gap = c_.where();
            c_.skip_blanks();
            if (!c_.at_break()) continue;
            scratch_ += between(run, gap);
            copied = out.multi_line = true;
            if (!quoted_gap()) return false;
            run = c_.where();
        } else {
            c_.advance();
        }
    }
    out.text = copied ? memory_.copy(scratch_) : between(run, c_.where());
    c_.advance();
    return true;
}

// At a line break inside quotes: folds it and what indents the next line.
bool yaml_scalars::quoted_gap() {
    std::size_t breaks = 0;
    while (c_.at_break() || c_.at_blank()) {
        if (c_.at_break()) {
            c_.take_break();
            ++breaks;
            if (c_.at_boundary()) return c_.wrong("a document ends inside a quoted string");
        } else {
            c_.skip_blanks();
        }
    }
    fold(breaks);
    return true;
}

bool yaml_scalars::double_quoted(yaml_scalar& out) {
    const char* const open = c_.where();
    out = {};
    scratch_.clear();
    c_.advance();
    const char* run = c_.where();
    bool copied = false;
    const auto keep = [&](const char* end) {
        scratch_ += between(run, end);
        copied = true;
    };
    while (c_.peek() != '"') {
        if (c_.at_end()) return c_.wrong_at(open, "the string that starts here has no end");
        if (c_.peek() == '\\') {
            keep(c_.where());
            if (c_.at_break(1)) {
                c_.advance();
                out.multi_line = true;
                c_.take_break();
                if (c_.at_boundary()) return c_.wrong("a document ends inside a quoted string");
                c_.skip_blanks();
                while (c_.at_break()) {
                    c_.take_break();
                    scratch_ += '\n';
                    c_.skip_blanks();
                }
            } else if (!escape()) {
                return false;
            }
            run = c_.where();
        } else if (c_.at_blank() || c_.at_break()) {
            const char* const gap = c_.where();
            c_.skip_blanks();
            if (!c_.at_break()) continue;
            keep(gap);
            out.multi_line = true;
            if (!quoted_gap()) return false;
            run = c_.where();
        } else {
            c_.advance();
        }
    }
    if (copied) keep(c_.where());
    out.text = copied ? memory_.copy(scratch_) : between(run, c_.where());
    c_.advance();
    return true;
}

bool yaml_scalars::escape() {
    struct meaning {
        char code;
        std::string_view text;
    };
    static constexpr meaning meanings[] = {{'0', std::string_view("\0", 1)},
                                           {'a', "\a"},
                                           {'b', "\b"},
                                           {'t', "\t"},
                                           {'\t', "\t"},
                                           {'n', "\n"},
                                           {'v', "\v"},
                                           {'f', "\f"},
                                           {'r', "\r"},
                                           {'e', "\x1B"},
                                           {' ', " "},
                                           {'"', "\""},
                                           {'\'', "'"},
                                           {'/', "/"},
                                           {'\\', "\\"},
                                           {'N', "\xC2\x85"},
                                           {'_', "\xC2\xA0"},
                                           {'L', "\xE2\x80\xA8"},
                                           {'P', "\xE2\x80\xA9"}};
    const char code = c_.peek(1);
    if (code == 'x') return hex_escape(2);
    if (code == 'u') return hex_escape(4);
    if (code == 'U') return hex_escape(8);
    const auto* const found = std::ranges::find(meanings, code, &meaning::code);
    if (found == std::end(meanings)) return c_.wrong("unknown escape in a quoted string");
    scratch_ += found->text;
    c_.advance(2);
    return true;
}

bool yaml_scalars::hex_escape(int digits) {
    const auto digit_at = [&](int i) -> int {
        const char c = c_.peek(static_cast<std::size_t>(i) + 2);
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    std::uint32_t code = 0;
    for (int i = 0; i < digits; ++i) {
        const int digit = digit_at(i);
        if (digit < 0) return c_.wrong("expected " + std::to_string(digits) + " hexadecimal digits in an escape");
        code = code << 4U | static_cast<std::uint32_t>(digit);
    }
    std::uint32_t low = 0;
    std::size_t used = static_cast<std::size_t>(digits) + 2;
    // JSON is YAML, so a surrogate pair in two escapes is one character.
    if (code >= 0xD800 && code < 0xDC00 && digits == 4 && c_.peek(6) == '\\' && c_.peek(7) == 'u') {
        bool hex = true;
        for (int i = 6; i < 10; ++i) {
            hex = hex && digit_at(i) >= 0;
            low = low << 4U | static_cast<std::uint32_t>(std::max(digit_at(i), 0));
        }
        if (hex && low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
            used += 6;
        }
    }
    if ((code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return c_.wrong("an escape that is no character");
    char bytes[4];
    scratch_.append(bytes, put_utf8(bytes, code));
    c_.advance(used);
    return true;
}

bool yaml_scalars::block_header(int& increment, int& chomp) {
    increment = 0;
    chomp = 0;
    for (int i = 0; i < 2; ++i) {
        const char c = c_.peek();
        if ((c == '+' || c == '-') && chomp == 0) {
            chomp = c == '+' ? 1 : -1;
            c_.advance();
        } else if (c == '0') {
            return c_.wrong("the indentation of a block scalar is 1 to 9");
        } else if (c >= '1' && c <= '9' && increment == 0) {
            increment = c - '0';
            c_.advance();
        }
    }
    c_.skip_blanks();
    if (c_.peek() == '#') (void)c_.take_line();
    if (!c_.at_end() && !c_.at_break()) return c_.wrong("expected a comment or the end of the line");
    if (!c_.at_end()) c_.take_break();
    return true;
}

// Over empty lines and indentation. A column of 0 is not known yet: the first line of content tells it.
bool yaml_scalars::block_breaks(int indent, int& content_column, std::size_t& breaks) {
    int deepest = 0;
    for (;;) {
        constexpr int any = 1 << 30;
        c_.skip_spaces(content_column == 0 ? any : content_column);
        deepest = std::max(deepest, c_.column());
        if ((content_column == 0 || c_.column() < content_column) && c_.peek() == '\t') {
            return c_.wrong("a tab cannot be used for indentation");
        }
        if (!c_.at_break()) break;
        c_.take_break();
        ++breaks;
    }
    if (content_column == 0) content_column = std::max({deepest, indent + 1, 1});
    return true;
}

bool yaml_scalars::block(int indent, yaml_scalar& out) {
    const bool folded = c_.peek() == '>';
    c_.advance();
    int increment = 0;
    int chomp = 0;
    if (!block_header(increment, chomp)) return false;
    int column = increment == 0 ? 0 : std::max(indent, 0) + increment;
    std::size_t breaks = 0;
    bool pending_break = false;
    bool indented_before = false;
    scratch_.clear();
    if (!block_breaks(indent, column, breaks)) return false;
    while (c_.column() == column && !c_.at_end()) {
        const bool indented = c_.at_blank();
        if (pending_break) {
            const bool join = folded && !indented_before && !indented;
            if (!join) {
                scratch_ += '\n';
            } else if (breaks == 0) {
                scratch_ += ' ';
            }
        }
        scratch_.append(breaks, '\n');
        breaks = 0;
        indented_before = indented;
        scratch_ += c_.take_line();
        pending_break = c_.at_break();
        if (pending_break) c_.take_break();
        if (!block_breaks(indent, column, breaks)) return false;
    }
    if (chomp >= 0 && pending_break) scratch_ += '\n';
    if (chomp > 0) scratch_.append(breaks, '\n');
    const auto here = c_.save();
    if (here.fresh) c_.restore({here.line, here.line, here.line_number, true});
    out = {.text = memory_.copy(scratch_), .plain = false, .multi_line = true};
    return true;
}

}  // namespace cotrain::api
