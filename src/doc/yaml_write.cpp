// Documents to YAML in block style, spelled as sigs.k8s.io/yaml does.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "doc/text_scan.hpp"
#include "doc/yaml.hpp"
#include "doc/yaml_resolve.hpp"

namespace cotrain::doc {

namespace {

constexpr std::size_t simple_key_bytes_max = 128;
constexpr unsigned step = 2;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view digits_at(std::string_view text, std::size_t i) {
    std::size_t end = i;
    while (end < text.size() && is_digit(text[end])) ++end;
    return text.substr(i, end - i);
}

// Numbers inside names count as numbers: node2 before node10. Signs come before digits, digits before letters.
// go-yaml's own order has circles (0107d < 0xa < 1 < 0107d); this one agrees with it elsewhere.
bool name_less(std::string_view a, std::string_view b) {
    const auto rank = [](char c) { return is_letter(c) ? 2 : is_digit(c) ? 1 : 0; };
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (!is_digit(a[i]) || !is_digit(b[j])) {
            if (rank(a[i]) != rank(b[j])) return rank(a[i]) < rank(b[j]);
            if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
            ++i;
            ++j;
            continue;
        }
        std::string_view left = digits_at(a, i);
        std::string_view right = digits_at(b, j);
        i += left.size();
        j += right.size();
        left.remove_prefix(std::min(left.find_first_not_of('0'), left.size()));
        right.remove_prefix(std::min(right.find_first_not_of('0'), right.size()));
        if (left.size() != right.size()) return left.size() < right.size();
        if (left != right) return left < right;
    }
    if (i < a.size() || j < b.size()) return i == a.size();
    return a < b;
}

// What a spelling has to respect.
struct traits {
    bool multi_line = false;
    bool special = false;      // needs escapes
    bool outer_blank = false;  // a space or a line break at an end
    bool trailing_space = false;
    bool space_then_break = false;
    bool break_then_space = false;
    bool indicators = false;  // would read as syntax
};

bool starts_with_indicator(std::string_view text) {
    if (text.starts_with("---") || text.starts_with("...")) return true;
    const char c = text[0];
    const bool followed_by_space = text.size() == 1 || text[1] == ' ' || text[1] == '\t';
    if (c == '?' || c == ':' || c == '-') return followed_by_space;
    return std::string_view("#,[]{}&*!|>'\"%@`").find(c) != std::string_view::npos;
}

bool has_indicator(std::string_view text) {
    for (std::size_t i = 1; i < text.size(); ++i) {
        const char next = i + 1 < text.size() ? text[i + 1] : ' ';
        if (text[i] == ':' && (next == ' ' || next == '\t')) return true;
        if (text[i] == '#' && (text[i - 1] == ' ' || text[i - 1] == '\t' || text[i - 1] == '\n')) return true;
    }
    return starts_with_indicator(text);
}

bool is_special(std::string_view character) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
    if (character.size() == 1) return (byte(0) < 0x20 && byte(0) != '\n') || byte(0) >= 0x7F;
    if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
    if (character.size() == 4) return true;
    const bool separators = character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9";
    return separators || character == "\xEF\xBB\xBF" || character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
}

traits examine(std::string_view text) {
    traits t;
    t.indicators = has_indicator(text);
    t.trailing_space = text.back() == ' ';
    t.outer_blank = text.front() == ' ' || text.front() == '\n' || text.back() == '\n' || t.trailing_space;
    const char* p = text.data();
    const char* const end = p + text.size();
    char before = 0;
    while (p != end) {
        const std::size_t length = std::max<std::size_t>(utf8_sequence(p, end), 1);
        t.special = t.special || is_special({p, length});
        t.multi_line = t.multi_line || *p == '\n';
        t.space_then_break = t.space_then_break || (*p == '\n' && before == ' ');
        t.break_then_space = t.break_then_space || (*p == ' ' && before == '\n');
        before = *p;
        p += length;
    }
    return t;
}

// Most names and words: nothing to quote and too long to be a boolean or null.
bool plainly_plain(std::string_view text) {
    constexpr std::size_t word_bytes_max = 5;
    const auto harmless = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_' || c == '.' ||
               c == '/';
    };
    if (text.size() <= word_bytes_max || is_digit(text[0]) || text[0] == '-' || text[0] == '.') return false;
    return std::ranges::all_of(text, harmless);
}

// 1:30, which YAML 1.1 reads as a number to base 60, and dates.
bool reads_as_time(std::string_view text) {
    std::size_t i = 0;
    const auto digits = [&](std::size_t max) {
        const std::size_t from = i;
        while (i < text.size() && i - from < max && is_digit(text[i])) ++i;
        return i - from;
    };
    const auto next = [&](char c) { return i < text.size() && text[i] == c && ++i != 0; };
    if (digits(4) == 4 && next('-') && digits(2) > 0 && next('-') && digits(2) > 0) {
        if (i == text.size() || text[i] == 'T' || text[i] == 't' || text[i] == ' ') return true;
    }
    i = text[0] == '-' || text[0] == '+' ? 1 : 0;
    if (digits(text.size()) == 0) return false;
    while (i < text.size() && (is_digit(text[i]) || text[i] == '_')) ++i;
    if (i == text.size() || text[i] != ':') return false;
    while (next(':')) {
        const std::size_t from = i;
        const std::size_t count = digits(2);
        if (count == 0 || (count == 2 && text[from] > '5')) return false;
    }
    if (next('.')) {
        while (i < text.size() && (is_digit(text[i]) || text[i] == '_')) ++i;
    }
    return i == text.size();
}

class yaml_writer {
   public:
    explicit yaml_writer(std::string& out, std::size_t bytes_max = SIZE_MAX) : out_(out), bytes_max_(bytes_max) {}

    // Nothing more is begun then: deep objects need more room for indentation than for what they say.
    [[nodiscard]] bool full() const { return out_.size() > bytes_max_; }

    // The cursor is where the value starts; its further lines are indented by `indent`.
    void value(ref v, unsigned indent) {
        if (v.is_object() && !v.empty()) return object(v, indent);
        if (v.is_array() && !v.empty()) return array(v, indent);
        scalar(v, indent);
        out_ += '\n';
    }

   private:
    void line(unsigned indent) { out_.append(indent, ' '); }

    void object(ref v, unsigned indent) {
        std::vector<const member*> list;
        list.reserve(v.size());
        for (const member& m : v.members()) list.push_back(&m);
        std::ranges::stable_sort(list, [](const member* a, const member* b) { return name_less(a->key(), b->key()); });
        bool first = true;
        for (const member* m : list) {
            if (full()) return;
            if (!first) line(indent);
            first = false;
            key(m->name, indent);
            below_key(m->value, indent);
        }
    }

    void key(ref name, unsigned indent) {
        const bool simple = name.text().size() <= simple_key_bytes_max;
        if (!simple) out_ += "? ";
        string(name.text(), indent, true);
        if (!simple) {
            out_ += '\n';
            line(indent);
        }
        out_ += ':';
    }

    void below_key(ref v, unsigned indent) {
        if (!v.is_container() || v.empty()) {
            out_ += ' ';
            return value(v, indent);
        }
        out_ += '\n';
        const unsigned below = v.is_object() ? indent + step : indent;
        line(below);
        value(v, below);
    }

    void array(ref v, unsigned indent) {
        bool first = true;
        for (const ref item : v.items()) {
            if (full()) return;
            if (!first) line(indent);
            first = false;
            out_ += "- ";
            value(item, item.is_container() ? indent + step : indent);
        }
    }

    void scalar(ref v, unsigned indent) {
        switch (v.type()) {
            case kind::boolean: out_ += *v.as_bool() ? "true" : "false"; return;
            case kind::number: out_ += v.text(); return;
            case kind::string: string(v.text(), indent, false); return;
            case kind::array: out_ += "[]"; return;
            case kind::object: out_ += "{}"; return;
            default: out_ += "null"; return;
        }
    }

    void string(std::string_view text, unsigned indent, bool is_key) {
        if (text.empty()) {
            out_ += "\"\"";
            return;
        }
        if (plainly_plain(text)) {
            out_ += text;
            return;
        }
        const traits t = examine(text);
        if (t.multi_line && !is_key && !t.trailing_space && !t.space_then_break && !t.special) {
            return literal(text, indent + step);
        }
        if (t.multi_line || t.special || !reads_as_text(text)) return double_quoted(text);
        if (!t.indicators && !t.outer_blank) {
            out_ += text;
            return;
        }
        single_quoted(text);
    }

    bool reads_as_text(std::string_view text) {
        if (text == "<<" || reads_as_time(text)) return false;
        memory_.clear();
        std::string problem;
        const auto meaning = resolve_yaml(memory_, yaml_tag::none, text, true, problem);
        return meaning && meaning->is_string();
    }

    void literal(std::string_view text, unsigned indent) {
        out_ += '|';
        if (text[0] == ' ' || text[0] == '\n') out_ += static_cast<char>('0' + step);
        if (!text.ends_with('\n')) {
            out_ += '-';
        } else if (text.size() == 1 || text[text.size() - 2] == '\n') {
            out_ += '+';
        }
        if (text.ends_with('\n')) text.remove_suffix(1);
        out_ += '\n';
        for (;;) {
            const std::size_t end = text.find('\n');
            const std::string_view row = text.substr(0, end);
            if (!row.empty()) line(indent);
            out_ += row;
            if (end == std::string_view::npos || full()) return;
            out_ += '\n';
            text.remove_prefix(end + 1);
        }
    }

    void single_quoted(std::string_view text) {
        out_ += '\'';
        for (const char c : text) {
            if (c == '\'') out_ += '\'';
            out_ += c;
        }
        out_ += '\'';
    }

    void double_quoted(std::string_view text) {
        out_ += '"';
        const char* p = text.data();
        const char* const end = p + text.size();
        while (p != end) {
            const std::size_t length = std::max<std::size_t>(utf8_sequence(p, end), 1);
            const std::string_view character(p, length);
            if (*p == '"' || *p == '\\' || *p == '\n' || is_special(character)) {
                escape(character);
            } else {
                out_ += character;
            }
            p += length;
        }
        out_ += '"';
    }

    void escape(std::string_view character) {
        struct code {
            std::uint32_t point;
            char letter;
        };
        static constexpr std::array codes{code{0, '0'},    code{7, 'a'},      code{8, 'b'},     code{9, 't'},
                                          code{10, 'n'},   code{11, 'v'},     code{12, 'f'},    code{13, 'r'},
                                          code{27, 'e'},   code{'"', '"'},    code{'\\', '\\'}, code{0x85, 'N'},
                                          code{0xA0, '_'}, code{0x2028, 'L'}, code{0x2029, 'P'}};
        const auto first = static_cast<unsigned char>(character[0]);
        constexpr std::array<unsigned, 5> masks{0, 0x7F, 0x1F, 0x0F, 0x07};
        std::uint32_t point = first & masks[character.size()];
        for (const char c : character.substr(1)) point = point << 6U | (static_cast<unsigned char>(c) & 0x3FU);
        out_ += '\\';
        if (const auto* known = std::ranges::find(codes, point, &code::point); known != codes.end()) {
            out_ += known->letter;
            return;
        }
        out_ += point <= 0xFF ? 'x' : point <= 0xFFFF ? 'u' : 'U';
        const int digits = point <= 0xFF ? 2 : point <= 0xFFFF ? 4 : 8;
        for (int i = digits - 1; i >= 0; --i) {
            out_ += "0123456789ABCDEF"[point >> (4U * static_cast<unsigned>(i)) & 0xFU];
        }
    }

    std::string& out_;
    std::size_t bytes_max_;
    arena memory_;
};

}  // namespace

void append_yaml(std::string& out, ref document) { yaml_writer(out).value(document, 0); }

bool append_yaml(std::string& out, ref document, std::size_t bytes_max) {
    yaml_writer to(out, bytes_max);
    to.value(document, 0);
    return !to.full();
}

std::string to_yaml(ref document) {
    std::string out;
    append_yaml(out, document);
    return out;
}

}  // namespace cotrain::doc
