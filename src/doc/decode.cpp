// Typed reading with paths.
#include "doc/decode.hpp"

#include <algorithm>
#include <limits>

namespace cotrain::doc {

namespace {

constexpr std::size_t shown_bytes_max = 60;

std::string shown(ref v) {
    switch (v.type()) {
        case kind::string: return "\"" + base::one_line(v.text(), shown_bytes_max) + "\"";
        case kind::number: return base::one_line(v.text(), shown_bytes_max);
        case kind::boolean: return *v.as_bool() ? "true" : "false";
        default: return std::string(to_string(v.type()));
    }
}

// Names that are no plain words are in brackets, as the API server writes map keys.
void append_step(std::string& path, std::string_view key) {
    const bool word = key.find_first_of("./[] \"") == std::string_view::npos && !key.empty();
    if (!word) {
        path.append("[").append(base::one_line(key, shown_bytes_max)).append("]");
        return;
    }
    if (!path.empty()) path += '.';
    path += base::one_line(key, shown_bytes_max);
}

}  // namespace

std::unexpected<base::error> decoding::fail() const {
    std::string text(what_);
    if (!text.empty()) text += ": ";
    return base::fail(base::errc::invalid, text + message_.value_or(std::string()));
}

void decoding::mistake(std::string message) {
    if (!message_) message_ = std::move(message);
}

std::string place::path() const {
    if (above_ == nullptr) return {};
    std::string text = above_->path();
    if (key_.data() == nullptr) {
        text += "[" + std::to_string(index_) + "]";
    } else {
        append_step(text, key_);
    }
    return text;
}

void place::mistake(std::string_view what) const {
    if (!outcome_->ok()) return;
    std::string text = path();
    if (!text.empty()) text += ": ";
    outcome_->mistake(text.append(what));
}

void place::expected(std::string_view what) const {
    mistake("expected " + std::string(what) + ", got " +
            (outcome_->secret() ? std::string(to_string(value_.type())) : shown(value_)));
}

place place::member(std::string_view key) const { return {*this, value_.get(key), key, 0}; }
place place::item(std::size_t index) const { return {*this, value_.at(index), std::string_view{}, index}; }

place place::of_kind(place below, kind wanted) const {
    if (below && below.value_.type() != wanted) {
        below.expected(to_string(wanted));
        below.value_ = ref{};
    }
    return below;
}

place place::object(std::string_view key) const { return of_kind(member(key), kind::object); }
place place::array(std::string_view key) const { return of_kind(member(key), kind::array); }

place place::object_item(std::size_t index) const {
    place below = item(index);
    if (!below.value_.is_object()) {
        below.expected(to_string(kind::object));
        below.value_ = ref{};
    }
    return below;
}

void place::read(std::string_view key, std::string_view& out) const {
    const place below = member(key);
    if (!below) return;
    if (below.value_.is_string()) {
        out = below.value_.text();
    } else {
        below.expected("a string");
    }
}

void place::read(std::string_view key, std::string& out) const {
    std::string_view text;
    read(key, text);
    if (text.data() != nullptr) out = text;
}

void place::read(std::string_view key, std::optional<std::string_view>& out) const {
    std::string_view text;
    if (!member(key)) return;
    read(key, text);
    out = text;
}

void place::read(std::string_view key, bool& out) const {
    const place below = member(key);
    if (!below) return;
    if (below.value_.is_bool()) {
        out = *below.value_.as_bool();
    } else {
        below.expected("true or false");
    }
}

void place::read(std::string_view key, std::optional<bool>& out) const {
    bool flag = false;
    if (!member(key)) return;
    read(key, flag);
    out = flag;
}

template <class T>
void place::read_integer(std::string_view key, T& out) const {
    const place below = member(key);
    if (!below) return;
    if (!below.value_.is_number()) return below.expected("an integer");
    const auto number = below.value_.as_int();
    using limits = std::numeric_limits<T>;
    if (number && *number >= limits::min() && *number <= limits::max()) {
        out = static_cast<T>(*number);
    } else if (below.value_.text().find_first_of(".eE") != std::string_view::npos && !number) {
        below.expected("an integer");
    } else {
        below.expected("an integer from " + std::to_string(limits::min()) + " to " + std::to_string(limits::max()));
    }
}

void place::read(std::string_view key, std::int32_t& out) const { read_integer(key, out); }
void place::read(std::string_view key, std::int64_t& out) const { read_integer(key, out); }

void place::read(std::string_view key, std::optional<std::int32_t>& out) const {
    if (!member(key)) return;
    std::int32_t number = 0;
    read_integer(key, number);
    out = number;
}

void place::read(std::string_view key, std::optional<std::int64_t>& out) const {
    if (!member(key)) return;
    std::int64_t number = 0;
    read_integer(key, number);
    out = number;
}

void place::read(std::string_view key, std::optional<base::micros_time>& out) const {
    const place below = member(key);
    if (!below) return;
    out = base::parse_time(below.value_.as_string());
    if (!out) below.expected("a time like 2026-01-02T03:04:05Z");
}

void place::read(std::string_view key, std::optional<base::seconds_time>& out) const {
    std::optional<base::micros_time> t;
    read(key, t);
    if (t) out = std::chrono::floor<std::chrono::seconds>(*t);
}

void place::read_strings(std::string_view key, std::vector<std::string_view>& out) const {
    const place list = array(key);
    if (!list) return;
    out.clear();
    out.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const place entry = list.item(i);
        if (!entry.value_.is_string()) return entry.expected("a string");
        out.push_back(entry.value_.text());
    }
}

void place::read_strings(std::string_view key, std::vector<std::string>& out) const {
    std::vector<std::string_view> texts;
    read_strings(key, texts);
    out.assign(texts.begin(), texts.end());
}

void place::read_object(std::string_view key, ref& out) const {
    if (const place below = object(key)) out = below.value_;
}

void place::read_array(std::string_view key, ref& out) const {
    if (const place below = array(key)) out = below.value_;
}

void place::read_string_map(std::string_view key, ref& out) const {
    const place below = object(key);
    if (!below) return;
    for (const doc::member& m : below.value_.members()) {
        if (!m.value.is_string() && !m.value.is_null()) return below.member(m.key()).expected("a string");
    }
    out = below.value_;
}

void place::require(std::string_view key) const {
    if (value_.get(key).is_unset()) member(key).mistake("is required");
}

}  // namespace cotrain::doc
