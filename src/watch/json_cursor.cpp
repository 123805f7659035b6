// Tokens of JSON, and what escapes mean.
#include "watch/json_cursor.hpp"

#include <charconv>
#include <cstring>

#include "api/text_scan.hpp"
#include "watch/skip.hpp"

namespace cotrain::watch {

bool json_text::means(std::string_view text) const {
    std::string scratch;
    return value(scratch) == text;
}

std::string_view json_text::value(std::string& scratch) const {
    if (!escapes) return raw;
    scratch.clear();
    append_unescaped(scratch, raw);
    return scratch;
}

char json_cursor::peek_slowly() {
    while (at_ != end_) {
        if (static_cast<unsigned char>(*at_) > ' ') return *at_;
        if (*at_ != ' ' && *at_ != '\n' && *at_ != '\t' && *at_ != '\r') return '\0';
        ++at_;
    }
    return '\0';
}

void json_cursor::fail(const char* what) {
    if (mistake_ != nullptr) return;
    mistake_ = what;
    mistake_at_ = offset();
    at_ = end_;
}

void json_cursor::return_to(std::size_t offset) {
    at_ = begin_ + offset;
    mistake_ = nullptr;
    fresh_ = false;
}

base::error json_cursor::error() const {
    return base::make_error(base::errc::decode, std::string("expected ") +
                                                    (mistake_ == nullptr ? "nothing" : mistake_) + " at byte " +
                                                    std::to_string(mistake_at_));
}

bool json_cursor::enter(char bracket, const char* what) {
    if (peek() == bracket) {
        ++at_;
        fresh_ = true;
        return true;
    }
    if (!take_null()) fail(what);
    return false;
}

bool json_cursor::next_member_slowly(std::string_view& name) {
    if (peek() == '}') {
        leave();
        return false;
    }
    // A longer name, as creationTimestamp.
    if (end_ - at_ <= 2 * near + 3) return next_member_anyhow(name);
    const char* const from = at_ + (fresh_ ? 1 : 2);
    if ((!fresh_ && *at_ != ',') || from[-1] != '"') return next_member_anyhow(name);
    const char* p = skip_plain(from);
    if (p == from + near) p = skip_plain(p);
    if (p[0] != '"' || p[1] != ':') return next_member_anyhow(name);
    name = {from, static_cast<std::size_t>(p - from)};
    at_ = p + 2;
    fresh_ = false;
    return true;
}

bool json_cursor::next_member_anyhow(std::string_view& name) {
    char c = peek();
    if (!fresh_) {
        if (c != ',') {
            fail("a comma or the end of the object");
            return false;
        }
        ++at_;
        c = peek();
    }
    if (c != '"') {
        fail("a member's name");
        return false;
    }
    const char* const from = at_ + 1;
    const skip_result found = skip_string(from, end_);
    if (found.fault != skip_fault::none) {
        fail("the end of a member's name");
        return false;
    }
    name = {from, static_cast<std::size_t>(found.end - 1 - from)};
    at_ = found.end;
    if (found.escapes) {
        std::string plain;
        if (append_unescaped(plain, name) && plain.size() <= sizeof name_) {
            std::memcpy(name_, plain.data(), plain.size());
            name = {name_, plain.size()};
        }
    }
    if (peek() != ':') {
        fail("a colon");
        return false;
    }
    ++at_;
    fresh_ = false;
    return true;
}

bool json_cursor::next_item() {
    const char c = peek();
    if (c == ']') {
        leave();
        return false;
    }
    if (!fresh_) {
        if (c != ',') {
            fail("a comma or the end of the list");
            return false;
        }
        ++at_;
        if (peek() == ']') {
            fail("an item");
            return false;
        }
    }
    fresh_ = false;
    return true;
}

// Here as API servers write it: no white space, no escapes.
json_text json_cursor::text() {
    if (end_ - at_ <= near || *at_ != '"') return text_slowly();
    const char* const from = at_ + 1;
    for (const char* p = from; end_ - p >= near; p += near) {
        const char* const stop = skip_plain(p);
        if (stop == p + near) continue;
        if (*stop != '"') break;
        at_ = stop + 1;
        return {{from, static_cast<std::size_t>(stop - from)}, false};
    }
    return text_slowly();
}

json_text json_cursor::text_slowly() {
    if (peek() != '"') {
        if (!take_null()) fail("a string");
        return {};
    }
    const char* const from = at_ + 1;
    const skip_result found = skip_string(from, end_);
    if (found.fault != skip_fault::none) {
        fail("the end of a string");
        return {};
    }
    at_ = found.end;
    return {{from, static_cast<std::size_t>(found.end - 1 - from)}, found.escapes};
}

std::int64_t json_cursor::integer() {
    // Most are counts of one digit.
    if (end_ - at_ >= 2 && *at_ >= '0' && *at_ <= '9' && (at_[1] == ',' || at_[1] == '}')) return *at_++ - '0';
    peek();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(at_, end_, value);
    const bool more = error == std::errc{} && end != end_ && (*end == '.' || *end == 'e' || *end == 'E');
    if (error != std::errc{} || more) {
        if (!take_null()) fail("an integer");
        return 0;
    }
    at_ = end;
    return value;
}

bool json_cursor::boolean() {
    const char c = peek();
    if (c == 't')
        take_literal("true");
    else if (c == 'f')
        take_literal("false");
    else if (!take_null())
        fail("true or false");
    return c == 't';
}

void json_cursor::take_literal(std::string_view word) {
    if (static_cast<std::size_t>(end_ - at_) < word.size() || std::memcmp(at_, word.data(), word.size()) != 0)
        return fail("a value");
    at_ += word.size();
}

bool json_cursor::take_null() {
    if (peek() != 'n') return false;
    take_literal("null");
    return ok();
}

void json_cursor::take_number() {
    const char* const from = at_;
    bool digits = false;
    for (; at_ != end_; ++at_) {
        const char c = *at_;
        if (c >= '0' && c <= '9')
            digits = true;
        else if (c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E')
            break;
    }
    if (digits) return;
    at_ = from;
    fail("a value");
}

void json_cursor::skip() {
    switch (const char c = peek(); c) {
        case '"': (void)text(); return;
        case '{':
        case '[': {
            const skip_result found = skip_container(at_ + 1, end_, c == '{' ? '}' : ']');
            if (found.fault != skip_fault::none) {
                at_ = found.end;
                return fail(found.fault == skip_fault::mismatched ? "matching brackets"
                                                                  : "the end of an object or list");
            }
            at_ = found.end;
            return;
        }
        case 't': return take_literal("true");
        case 'f': return take_literal("false");
        case 'n': return take_literal("null");
        default: return take_number();
    }
}

std::string_view json_cursor::raw() {
    const char first = peek();
    const char* const from = at_;
    skip();
    if (!ok() || first == 'n') return {};
    return {from, static_cast<std::size_t>(at_ - from)};
}

void json_cursor::finish() {
    if (ok() && (peek() != '\0' || at_ != end_)) fail("the end of the text");
}

namespace {

// Four hexadecimal digits, or -1.
std::int32_t hex4(std::string_view text) {
    std::uint32_t value = 0;
    if (text.size() < 4) return -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + 4, value, 16);
    return error == std::errc{} && end == text.data() + 4 ? static_cast<std::int32_t>(value) : -1;
}

// The code point of "\uXXXX" (and a second one) at `at`, which is moved behind; -1 if malformed.
std::int32_t code_point(std::string_view raw, std::size_t& at) {
    const std::int32_t high = hex4(raw.substr(at));
    if (high < 0) return -1;
    at += 4;
    if (high < 0xD800 || high > 0xDFFF) return high;
    if (high < 0xDC00 && raw.substr(at).starts_with("\\u")) {
        const std::int32_t low = hex4(raw.substr(at + 2));
        if (low >= 0xDC00 && low <= 0xDFFF) {
            at += 6;
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    return 0xFFFD;
}

}  // namespace

bool append_unescaped(std::string& out, std::string_view raw) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    for (std::size_t at = 0; at < raw.size();) {
        const std::size_t next = raw.find('\\', at);
        out.append(raw.substr(at, next - at));
        if (next == std::string_view::npos) return true;
        if (next + 1 >= raw.size()) return false;
        const char letter = raw[next + 1];
        at = next + 2;
        if (letter == 'u') {
            const std::int32_t point = code_point(raw, at);
            if (point < 0) return false;
            char bytes[4];
            out.append(bytes, api::put_utf8(bytes, static_cast<std::uint32_t>(point)));
        } else if (const auto i = letters.find(letter); i != std::string_view::npos) {
            out.push_back(meanings[i]);
        } else {
            return false;
        }
    }
    return true;
}

}  // namespace cotrain::watch
