// Quantities: parsing, exact arithmetic, canonical spelling.
#include "api/quantity.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace cotrain::api {

namespace {

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;
constexpr wide wide_max = static_cast<wide>((static_cast<unsigned_wide>(1) << 127U) - 1);
constexpr wide int64_max = std::numeric_limits<std::int64_t>::max();
constexpr int digits_max = 38;           // that a coefficient holds for certain
constexpr int exponent_max = 1'000'000;  // of a quantity like 1e3
constexpr int nano = -9;

struct suffix {
    std::string_view text;
    int base;
    int exponent;
};
constexpr std::array suffixes{suffix{"n", 10, -9}, suffix{"u", 10, -6}, suffix{"m", 10, -3}, suffix{"", 10, 0},
                              suffix{"k", 10, 3},  suffix{"M", 10, 6},  suffix{"G", 10, 9},  suffix{"T", 10, 12},
                              suffix{"P", 10, 15}, suffix{"E", 10, 18}, suffix{"Ki", 2, 10}, suffix{"Mi", 2, 20},
                              suffix{"Gi", 2, 30}, suffix{"Ti", 2, 40}, suffix{"Pi", 2, 50}, suffix{"Ei", 2, 60}};

std::string_view suffix_of(int base, int exponent) {
    for (const suffix& s : suffixes) {
        if (s.base == base && s.exponent == exponent) return s.text;
    }
    return {};
}

// Leaves `a` as it was where the product does not fit.
bool multiply(wide& a, wide b) {
    wide product = 0;
    // The one value that has no opposite counts as too large.
    if (__builtin_mul_overflow(a, b, &product) || product < -wide_max) return false;
    a = product;
    return true;
}

// Times 10^power.
bool shift(wide& a, int power) {
    if (a == 0) return true;
    for (; power > 0; --power) {
        if (!multiply(a, 10)) return false;
    }
    return true;
}

// By 10^power, away from zero.
wide divide_up(wide a, int power) {
    bool rest = false;
    const bool negative = a < 0;
    for (; power > 0 && a != 0; --power) {
        rest = rest || a % 10 != 0;
        a /= 10;
    }
    return rest ? a + (negative ? -1 : 1) : a;
}

// The parts of a quantity as written.
struct parts {
    bool negative = false;
    std::string_view whole;     // without leading zeros
    std::string_view fraction;  // digits after the point
    int base = 10;
    int exponent = 0;
    quantity_format format = quantity_format::decimal_si;
};

std::string_view take_digits(std::string_view& text) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    return digits;
}

bool read_suffix(std::string_view text, parts& p) {
    for (const suffix& s : suffixes) {
        if (s.text != text) continue;
        p.base = s.base;
        p.exponent = s.exponent;
        p.format = s.base == 2 ? quantity_format::binary_si : quantity_format::decimal_si;
        return true;
    }
    if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return false;
    p.format = quantity_format::decimal_exponent;
    text.remove_prefix(1);
    const bool down = text[0] == '-';
    if (down || text[0] == '+') text.remove_prefix(1);
    if (text.empty()) return false;
    for (const char c : text) {
        if (c < '0' || c > '9') return false;
        p.exponent = std::min(p.exponent * 10 + (c - '0'), exponent_max + 1);
    }
    if (p.exponent > exponent_max) return false;
    if (down) p.exponent = -p.exponent;
    return true;
}

std::optional<parts> split(std::string_view text) {
    parts p;
    if (text.empty()) return std::nullopt;
    if (text[0] == '-' || text[0] == '+') {
        p.negative = text[0] == '-';
        text.remove_prefix(1);
    }
    const std::size_t before = text.size();
    p.whole = take_digits(text);
    p.whole.remove_prefix(std::min(p.whole.find_first_not_of('0'), p.whole.size()));
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        p.fraction = take_digits(text);
    }
    // A lone sign or point is no number, although Go takes it for zero.
    const bool any_digit = before != text.size() && !(p.whole.empty() && p.fraction.empty() &&
                                                      before - text.size() == 1 && text.data()[-1] == '.');
    if (!any_digit || !read_suffix(text, p)) return std::nullopt;
    return p;
}

std::string quoted(std::string_view text) { return "\"" + base::one_line(text, 60) + "\""; }

std::unexpected<base::error> not_a_quantity(std::string_view text) {
    return base::fail(base::errc::decode, quoted(text) +
                                              " is not a quantity: expected a number with an optional suffix, "
                                              "like 2, 500m, 1.5Gi, 3k or 2e3");
}

std::unexpected<base::error> out_of_range(std::string_view text) {
    return base::fail(base::errc::decode, quoted(text) + " has more digits than a quantity can hold");
}

wide to_wide(std::string_view digits, wide start = 0) {
    for (const char c : digits) start = start * 10 + (c - '0');
    return start;
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view space = " \t\n\v\f\r";
    text.remove_prefix(std::min(text.find_first_not_of(space), text.size()));
    const std::size_t last = text.find_last_not_of(space);
    return last == std::string_view::npos ? std::string_view{} : text.substr(0, last + 1);
}

// Whether Go keeps the text it has parsed instead of printing the canonical form.
bool keeps_spelling(const parts& p) {
    const int whole = static_cast<int>(p.whole.size());
    const int fraction = static_cast<int>(p.fraction.size());
    if (p.base == 2) {
        constexpr int digits_fast = 15;
        const bool fast = fraction == 0 && digits_fast - std::max(whole, 1) - p.exponent * 3 / 10 - 1 >= 0;
        return fast && (static_cast<std::int64_t>(to_wide(p.whole)) & 7) != 0;
    }
    constexpr int digits_fast = 18;
    const int scale = p.exponent - fraction;
    if (std::max(whole, 1) + fraction > digits_fast || scale < nano || scale % 3 != 0) return false;
    if (p.whole.empty()) return false;
    const std::string shifted = std::string(p.whole) + std::string(p.fraction);
    return !shifted.ends_with("000");
}

}  // namespace

quantity quantity::of(std::int64_t amount, quantity_format format) { return {amount, 0, format}; }

base::result<quantity> quantity::parse(std::string_view text) {
    const auto split_text = split(text);
    if (!split_text) return not_a_quantity(text);
    parts p = *split_text;
    while (p.fraction.ends_with('0')) p.fraction.remove_suffix(1);
    const auto sign = [&](wide magnitude) { return p.negative ? -magnitude : magnitude; };
    const bool binary = p.base == 2;
    const quantity capped(sign(int64_max), 0, p.format);
    if (p.whole.size() > digits_max) return binary ? base::result<quantity>(capped) : out_of_range(text);
    if (p.whole.size() + p.fraction.size() > digits_max) return out_of_range(text);
    wide coefficient = to_wide(p.fraction, to_wide(p.whole));
    int scale = -static_cast<int>(p.fraction.size());
    if (binary) {
        const wide factor = static_cast<wide>(1) << p.exponent;
        wide whole_units = to_wide(p.whole);
        if (!multiply(whole_units, factor) || whole_units > int64_max) return capped;
        if (!multiply(coefficient, factor)) return out_of_range(text);
    } else {
        scale += p.exponent;
    }
    if (coefficient == 0) return quantity(0, 0, p.format);
    if (scale < scale_min) {
        coefficient = divide_up(coefficient, scale_min - scale);
        scale = scale_min;
    }
    // Less than one of a binary unit is spelled in thousandths and below.
    if (binary && divide_up(coefficient, -scale) == 1 && scale < 0) {
        wide one = 1;
        (void)shift(one, -scale);
        if (coefficient < one) p.format = quantity_format::decimal_si;
    }
    return quantity(sign(coefficient), scale, p.format);
}

base::result<quantity> quantity::parse(doc::ref value) {
    if (value.is_string() || value.is_number()) return parse(trim(value.text()));
    return base::fail(base::errc::decode, "expected a quantity, got " + std::string(doc::to_string(value.type())));
}

void quantity::add(wide coefficient, int scale) {
    if (coefficient == 0) return;
    if (coefficient_ == 0) {
        coefficient_ = coefficient;
        scale_ = scale;
        return;
    }
    const auto reduce = [](wide& c, int& s) {
        while (c % 10 == 0) {
            c /= 10;
            ++s;
        }
    };
    if (scale_ != scale) {
        reduce(coefficient_, scale_);
        reduce(coefficient, scale);
    }
    const int lower = std::min(scale_, scale);
    wide sum = 0;
    if (!shift(coefficient_, scale_ - lower) || !shift(coefficient, scale - lower)) {
        // What could not be written out is the larger one.
        overflowed_ = true;
        sum = (scale_ > scale ? coefficient_ : coefficient) < 0 ? -wide_max : wide_max;
    } else if (__builtin_add_overflow(coefficient_, coefficient, &sum) || sum < -wide_max) {
        overflowed_ = true;
        sum = coefficient_ < 0 ? -wide_max : wide_max;
    }
    coefficient_ = sum;
    scale_ = sum == 0 ? 0 : lower;
}

quantity& quantity::operator+=(const quantity& other) {
    if (is_zero()) format_ = other.format_;
    overflowed_ = overflowed_ || other.overflowed_;
    add(other.coefficient_, other.scale_);
    return *this;
}

quantity& quantity::operator-=(const quantity& other) {
    if (is_zero()) format_ = other.format_;
    overflowed_ = overflowed_ || other.overflowed_;
    add(-other.coefficient_, other.scale_);
    return *this;
}

quantity& quantity::operator*=(std::int64_t factor) {
    const bool negative = (coefficient_ < 0) != (factor < 0);
    while (coefficient_ != 0 && coefficient_ % 10 == 0) {
        coefficient_ /= 10;
        ++scale_;
    }
    if (!multiply(coefficient_, factor)) {
        overflowed_ = true;
        coefficient_ = negative ? -wide_max : wide_max;
    }
    if (coefficient_ == 0) scale_ = 0;
    return *this;
}

std::strong_ordering quantity::operator<=>(const quantity& other) const {
    if (sign() != other.sign()) return sign() <=> other.sign();
    quantity difference = *this;
    difference.add(-other.coefficient_, other.scale_);
    return difference.sign() <=> 0;
}

std::int64_t quantity::scaled_value(int scale) const {
    wide n = coefficient_;
    if (scale_ < scale) {
        n = divide_up(n, scale - scale_);
    } else if (!shift(n, std::min(scale_ - scale, digits_max))) {
        n = coefficient_ < 0 ? -wide_max : wide_max;
    }
    constexpr wide int64_min = std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(std::clamp(n, int64_min, int64_max));
}

std::string quantity::to_string() const {
    if (coefficient_ == 0) return "0";
    wide amount = coefficient_;
    int exponent = scale_;
    while (amount % 10 == 0) {
        amount /= 10;
        ++exponent;
    }
    quantity_format format = format_;
    std::string_view ending;
    int zeros = 0;
    wide whole = amount;
    constexpr wide kilo = 1024;
    const bool exact = exponent >= 0 && exponent <= digits_max && shift(whole, exponent);
    const bool small = exact && whole > -kilo && whole < kilo;
    if (format == quantity_format::binary_si && (!exact || small)) format = quantity_format::decimal_si;
    std::string tail;
    if (format == quantity_format::binary_si) {
        int power = 0;
        amount = whole;
        for (; amount % kilo == 0 && power < 60; power += 10) amount /= kilo;
        ending = power == 0 ? std::string_view{} : suffix_of(2, power);
    } else {
        zeros = ((exponent % 3) + 3) % 3;
        exponent -= zeros;
        constexpr int exa = 18;
        if (format == quantity_format::decimal_si && exponent > exa) {
            zeros += exponent - exa;
            exponent = exa;
        }
        if (format == quantity_format::decimal_si) {
            ending = suffix_of(10, exponent);
        } else if (exponent != 0) {
            tail = "e" + std::to_string(exponent);
            ending = tail;
        }
    }
    std::string digits;
    const bool negative = amount < 0;
    for (; amount != 0; amount /= 10) digits += static_cast<char>('0' + (negative ? -(amount % 10) : amount % 10));
    if (negative) digits += '-';
    std::ranges::reverse(digits);
    digits.append(static_cast<std::size_t>(zeros), '0');
    return digits.append(ending);
}

base::result<std::string> normal_quantity(std::string_view text) {
    text = trim(text);
    const auto q = quantity::parse(text);
    if (!q) return std::unexpected(q.error());
    const auto p = split(text);
    return p && keeps_spelling(*p) ? std::string(text) : q->to_string();
}

}  // namespace cotrain::api
