// Walks through JSON text once, forward, and reads only what is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "watch/skip.hpp"

namespace cotrain::watch {

// A string as it stands between its quotes: a view into the text, not to be kept longer.
struct json_text {
    std::string_view raw{};
    bool escapes = false;  // raw has backslashes

    [[nodiscard]] bool empty() const { return raw.empty(); }
    [[nodiscard]] bool is(std::string_view text) const { return escapes ? means(text) : raw == text; }
    // The same where there are escapes.
    [[nodiscard]] bool means(std::string_view text) const;
    // The string that is meant: raw itself, or `scratch`, into which it is unescaped.
    [[nodiscard]] std::string_view value(std::string& scratch) const;
};

// The first mistake is kept, with its offset; everything after it reads as nothing, so loops end. Skipped values are
// checked for balance only. null reads as nothing: Kubernetes treats it as absent. Names of members that have
// escapes are understood if they are short, as all that are asked for are.
class json_cursor {
   public:
    explicit json_cursor(std::string_view text)
        : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

    // Whether an object starts here; then next_member() until it says false. null: false.
    bool enter_object() { return enter('{', "an object"); }
    // Here as API servers write it: no white space, a name without escapes and of less than 16 bytes.
    bool next_member(std::string_view& name) {
        const char* p = at_ + (fresh_ ? 0 : 1);
        if (end_ - p <= near + 2 || (!fresh_ && *at_ != ',') || *p != '"') return next_member_slowly(name);
        const char* const from = p + 1;
        p = skip_plain(from);
        if (p[0] != '"' || p[1] != ':') return next_member_slowly(name);
        name = {from, static_cast<std::size_t>(p - from)};
        at_ = p + 2;
        fresh_ = false;
        return true;
    }
    bool enter_array() { return enter('[', "a list"); }
    bool next_item();

    [[nodiscard]] json_text text();
    [[nodiscard]] std::int64_t integer();
    [[nodiscard]] bool boolean();
    // Any value, as it is written; empty if it is null.
    [[nodiscard]] std::string_view raw();
    void skip();
    // Nothing but white space may follow.
    void finish();

    [[nodiscard]] bool ok() const { return mistake_ == nullptr; }
    [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
    // What stands between two offsets.
    [[nodiscard]] std::string_view between(std::size_t from, std::size_t to) const {
        return {begin_ + from, to - from};
    }
    // Forgets a mistake and goes back to where a value begins.
    void return_to(std::size_t offset);
    void fail(const char* what);
    // "expected a string at byte 123"
    [[nodiscard]] base::error error() const;

    // The next byte that is no white space; '\0' at the end.
    char peek() {
        if (at_ != end_ && static_cast<unsigned char>(*at_) > ' ') return *at_;
        return peek_slowly();
    }

   private:
    static constexpr std::ptrdiff_t near = 16;  // as far as one look reaches

    char peek_slowly();
    json_text text_slowly();
    bool next_member_anyhow(std::string_view& name);
    bool next_member_slowly(std::string_view& name);
    bool enter(char bracket, const char* what);
    bool take_null();
    void take_literal(std::string_view word);
    void take_number();
    void leave() {
        ++at_;
        fresh_ = false;
    }

    const char* begin_;
    const char* at_;
    const char* end_;
    const char* mistake_ = nullptr;
    std::size_t mistake_at_ = 0;
    bool fresh_ = false;  // right behind an opening bracket
    char name_[64];       // a member's name that had escapes
};

// Appends what a string between quotes means; false if its escapes are not JSON's. Lone surrogates become U+FFFD.
bool append_unescaped(std::string& out, std::string_view raw);

}  // namespace cotrain::watch
