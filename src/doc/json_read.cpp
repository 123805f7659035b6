// A strict reader of JSON: one pass over the text, values straight into a document.
#include <cstring>

#include "doc/json.hpp"
#include "doc/text_scan.hpp"
#include "doc/tree_builder.hpp"

namespace cotrain::doc {

namespace {

using base::errc;

// A path in a message is cut at about this length.
constexpr std::size_t path_bytes_max = 200;

class json_reader {
   public:
    json_reader(arena& memory, std::string_view text, read_limits limits)
        : memory_(memory), builder_(memory), text_(text), p_(text.data()), end_(p_ + text.size()), limits_(limits) {}

    // `rest`: what follows the value, if something may.
    base::result<ref> read(std::string_view* rest = nullptr) {
        if (text_.size() > limits_.bytes_max) {
            return base::fail(errc::too_large, "JSON of " + std::to_string(text_.size()) +
                                                   " bytes is larger than the " + std::to_string(limits_.bytes_max) +
                                                   " allowed");
        }
        ref document;
        if (!value(document)) return failure();
        if (rest != nullptr) {
            *rest = {p_, static_cast<std::size_t>(end_ - p_)};
            return document;
        }
        skip_space();
        if (p_ != end_) {
            (void)wrong("unexpected text after the end of the document");
            return failure();
        }
        return document;
    }

   private:
    bool wrong(std::string_view what, errc code = errc::decode) {
        what_ = what;
        code_ = code;
        return false;
    }

    bool unexpected(std::string_view wanted) {
        if (p_ == end_) return wrong("unexpected end of text, expected " + std::string(wanted));
        const auto c = static_cast<unsigned char>(*p_);
        std::string found;
        if (c > 0x20 && c < 0x7F) {
            found = {'\'', *p_, '\''};
        } else {
            constexpr char hex[] = "0123456789abcdef";
            found = std::string("byte 0x") + hex[c >> 4U] + hex[c & 0xFU];
        }
        return wrong("unexpected " + found + ", expected " + std::string(wanted));
    }

    base::result<ref> failure() const {
        const auto [line, column] = position_of(text_, static_cast<std::size_t>(p_ - text_.data()));
        std::string message = "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what_;
        if (!path_.empty()) message += " (in " + path_.substr(path_[0] == '.' ? 1 : 0) + ")";
        return base::fail(code_, std::move(message));
    }

    // Called on the way out of nested values: the innermost step first.
    bool inside(std::string_view step) {
        if (path_.size() < path_bytes_max) path_.insert(0, base::one_line(step, path_bytes_max / 4));
        return false;
    }

    void skip_space() {
        if (p_ == end_ || static_cast<unsigned char>(*p_) > 0x20) return;
        const char* const before = p_;
        while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
        if (p_ != before) ++irregular_;
    }

    bool literal(std::string_view word, ref v, ref& out) {
        if (static_cast<std::size_t>(end_ - p_) < word.size() || std::memcmp(p_, word.data(), word.size()) != 0) {
            return unexpected("a value");
        }
        p_ += word.size();
        out = v;
        return true;
    }

    bool value(ref& out) {
        skip_space();
        if (p_ == end_) return unexpected("a value");
        switch (*p_) {
            case '{': return object(out);
            case '[': return array(out);
            case '"': return string(out);
            case 't': return literal("true", ref::make_bool(true), out);
            case 'f': return literal("false", ref::make_bool(false), out);
            case 'n': return literal("null", ref::make_null(), out);
            default: return number(out);
        }
    }

    bool enter() {
        if (depth_ == limits_.depth_max) {
            return wrong("nested deeper than " + std::to_string(limits_.depth_max) + " levels", errc::too_large);
        }
        ++depth_;
        ++p_;
        skip_space();
        return true;
    }

    bool leave() {
        --depth_;
        ++p_;
        if (memory_.exceeded()) return wrong("the document needs more memory than is allowed", errc::too_large);
        return true;
    }

    // The container's own text, where it is what a writer would print.
    [[nodiscard]] std::string_view compact_text(const char* begin, std::size_t irregular_before) const {
        if (irregular_ != irregular_before) return {};
        return {begin, static_cast<std::size_t>(p_ - begin)};
    }

    bool object(ref& out) {
        const char* const begin = p_;
        const std::size_t irregular_before = irregular_;
        const std::size_t mark = builder_.mark();
        if (!enter()) return false;
        if (p_ != end_ && *p_ == '}') {
            out = ref::empty_object();
            return leave();
        }
        for (;;) {
            if (p_ == end_ || *p_ != '"') return unexpected("a member's name in quotes");
            ref name;
            if (!string(name)) return false;
            skip_space();
            if (p_ == end_ || *p_ != ':') return unexpected("':' after a member's name");
            ++p_;
            ref v;
            if (!value(v)) return inside("." + std::string(name.text()));
            builder_.push(name);
            builder_.push(v);
            skip_space();
            if (p_ != end_ && *p_ == '}') break;
            if (p_ == end_ || *p_ != ',') return unexpected("',' or '}' after a member");
            ++p_;
            skip_space();
        }
        if (!leave()) return false;
        if (builder_.drop_duplicates(mark)) ++irregular_;
        out = builder_.close(kind::object, mark, compact_text(begin, irregular_before));
        return true;
    }

    bool array(ref& out) {
        const char* const begin = p_;
        const std::size_t irregular_before = irregular_;
        const std::size_t mark = builder_.mark();
        if (!enter()) return false;
        if (p_ != end_ && *p_ == ']') {
            out = ref::empty_array();
            return leave();
        }
        for (;;) {
            ref v;
            if (!value(v)) return inside("[" + std::to_string(builder_.mark() - mark) + "]");
            builder_.push(v);
            skip_space();
            if (p_ != end_ && *p_ == ']') break;
            if (p_ == end_ || *p_ != ',') return unexpected("',' or ']' after an item");
            ++p_;
        }
        if (!leave()) return false;
        out = builder_.close(kind::array, mark, compact_text(begin, irregular_before));
        return true;
    }

    bool number(ref& out) {
        const char* const begin = p_;
        const auto digits = [&] {
            const char* const from = p_;
            while (p_ != end_ && *p_ >= '0' && *p_ <= '9') ++p_;
            return p_ != from;
        };
        if (*p_ == '-') ++p_;
        const bool zero = p_ != end_ && *p_ == '0';
        const char* const first = p_;
        if (!digits()) return p_ == begin ? unexpected("a value") : unexpected("a digit");
        if (zero && p_ - first > 1) {
            p_ = first;
            return wrong("a number may not start with 0");
        }
        if (p_ != end_ && *p_ == '.') {
            ++p_;
            if (!digits()) return unexpected("a digit");
        }
        if (p_ != end_ && (*p_ == 'e' || *p_ == 'E')) {
            ++p_;
            if (p_ != end_ && (*p_ == '+' || *p_ == '-')) ++p_;
            if (!digits()) return unexpected("a digit");
        }
        out = ref::make_number({begin, static_cast<std::size_t>(p_ - begin)});
        return true;
    }

    // Moves over the bytes of a string up to the closing quote; tells whether any is escaped or not ASCII.
    bool scan_string(bool& escaped, bool& plain) {
        for (;;) {
            p_ = find_special(p_, end_);
            if (p_ == end_) return unexpected("'\"' at the end of a string");
            const auto c = static_cast<unsigned char>(*p_);
            if (c == '"') return true;
            plain = false;
            if (c == '\\') {
                escaped = true;
                if (end_ - p_ < 2) return unexpected("a character after '\\'");
                p_ += 2;
            } else if (c < 0x20) {
                return unexpected("no control bytes in a string");
            } else {
                const std::size_t length = utf8_sequence(p_, end_);
                if (length == 0) return wrong("invalid UTF-8 in a string");
                p_ += length;
            }
        }
    }

    bool string(ref& out) {
        const char* const begin = ++p_;
        bool escaped = false;
        bool plain = true;
        if (!scan_string(escaped, plain)) return false;
        const std::string_view raw(begin, static_cast<std::size_t>(p_ - begin));
        if (plain) {
            out = ref::make_plain_string(raw);
        } else if (!escaped) {
            out = ref::make_string(raw);
        } else {
            ++irregular_;
            p_ = begin;
            if (!unescape(raw, out)) return false;
        }
        ++p_;
        return true;
    }

    bool unescape(std::string_view raw, ref& out) {
        char* const text = memory_.allocate_text(raw.size());
        char* to = text;
        const char* const stop = raw.data() + raw.size();
        while (p_ != stop) {
            if (*p_ != '\\') {
                *to++ = *p_++;
            } else if (p_[1] == 'u') {
                if (!unicode(stop, to)) return false;
            } else {
                constexpr std::string_view codes = "\"\\/bfnrt";
                constexpr std::string_view bytes = "\"\\/\b\f\n\r\t";
                const std::size_t which = codes.find(p_[1]);
                if (which == std::string_view::npos) return wrong("unknown escape in a string");
                *to++ = bytes[which];
                p_ += 2;
            }
        }
        out = ref::make_string({text, static_cast<std::size_t>(to - text)});
        return true;
    }

    bool hex4(const char* stop, std::uint32_t& code) {
        if (stop - p_ < 6) return wrong("expected four hexadecimal digits after \\u");
        code = 0;
        for (int i = 2; i < 6; ++i) {
            constexpr std::string_view digits = "0123456789abcdef";
            const char c = p_[i];
            const std::size_t digit = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
            if (digit == std::string_view::npos) return wrong("expected four hexadecimal digits after \\u");
            code = code << 4U | static_cast<std::uint32_t>(digit);
        }
        p_ += 6;
        return true;
    }

    bool unicode(const char* stop, char*& to) {
        constexpr std::uint32_t replacement = 0xFFFD;  // for half a surrogate pair, as in Go
        std::uint32_t code = 0;
        if (!hex4(stop, code)) return false;
        if (code >= 0xD800 && code < 0xDC00 && stop - p_ >= 2 && p_[0] == '\\' && p_[1] == 'u') {
            const char* const second = p_;
            std::uint32_t low = 0;
            if (!hex4(stop, low)) return false;
            if (low >= 0xDC00 && low < 0xE000) {
                code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
            } else {
                p_ = second;
                code = replacement;
            }
        } else if (code >= 0xD800 && code < 0xE000) {
            code = replacement;
        }
        to = put_utf8(to, code);
        return true;
    }

    arena& memory_;
    tree_builder builder_;
    std::string_view text_;
    const char* p_;
    const char* end_;
    read_limits limits_;
    unsigned depth_ = 0;
    std::size_t irregular_ = 0;  // things seen that a writer prints differently: space, escapes, duplicates
    std::string what_;
    std::string path_;
    errc code_ = errc::decode;
};

}  // namespace

base::result<ref> parse_json(arena& memory, std::string_view text, read_limits limits) {
    return json_reader(memory, text, limits).read();
}

base::result<ref> parse_json_prefix(arena& memory, std::string_view& text, read_limits limits) {
    return json_reader(memory, text, limits).read(&text);
}

base::result<ref> parse_json_copy(arena& memory, std::string_view text, read_limits limits) {
    if (text.size() > limits.bytes_max) return parse_json(memory, text, limits);
    return parse_json(memory, memory.copy(text), limits);
}

}  // namespace cotrain::doc
