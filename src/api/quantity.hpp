// Amounts of resources ("500m", "1.5Gi", "2e3") with Kubernetes' arithmetic and spelling.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "doc/tree.hpp"

namespace cotrain::api {

enum class quantity_format : std::uint8_t { decimal_si, binary_si, decimal_exponent };

// A decimal number: an exact 127-bit coefficient times a power of ten, not finer than 10^-9. What does not fit is an
// error when parsed and saturates in sums and products; overflowed() tells.
class quantity {
   public:
    constexpr quantity() = default;  // zero, which takes the format of what is added to it
    [[nodiscard]] static quantity of(std::int64_t amount, quantity_format format = quantity_format::decimal_si);

    // Rounds away from zero beyond nano; binary amounts are capped at 2^63-1, as the API server does.
    [[nodiscard]] static base::result<quantity> parse(std::string_view text);
    // A string or a number in a document.
    [[nodiscard]] static base::result<quantity> parse(doc::ref value);

    quantity& operator+=(const quantity& other);
    quantity& operator-=(const quantity& other);
    quantity& operator*=(std::int64_t factor);
    [[nodiscard]] friend quantity operator+(quantity a, const quantity& b) { return a += b; }
    [[nodiscard]] friend quantity operator-(quantity a, const quantity& b) { return a -= b; }
    [[nodiscard]] friend quantity operator*(quantity a, std::int64_t factor) { return a *= factor; }

    // By amount; the format does not count.
    [[nodiscard]] std::strong_ordering operator<=>(const quantity& other) const;
    [[nodiscard]] bool operator==(const quantity& other) const { return (*this <=> other) == 0; }

    [[nodiscard]] bool is_zero() const { return coefficient_ == 0; }
    [[nodiscard]] int sign() const { return coefficient_ == 0 ? 0 : (coefficient_ < 0 ? -1 : 1); }
    [[nodiscard]] quantity_format format() const { return format_; }
    [[nodiscard]] bool overflowed() const { return overflowed_; }

    // Rounded away from zero to whole units or thousandths; saturated to 64 bits.
    [[nodiscard]] std::int64_t value() const { return scaled_value(0); }
    [[nodiscard]] std::int64_t milli_value() const { return scaled_value(-3); }
    [[nodiscard]] std::int64_t scaled_value(int scale) const;

    // Canonical: no fraction, the largest suffix that loses nothing.
    [[nodiscard]] std::string to_string() const;

   private:
    __extension__ typedef __int128 wide;

    static constexpr int scale_min = -9;

    quantity(wide coefficient, int scale, quantity_format format)
        : coefficient_(coefficient), scale_(scale), format_(format) {}
    void add(wide coefficient, int scale);

    wide coefficient_ = 0;
    int scale_ = 0;
    quantity_format format_ = quantity_format::decimal_si;
    bool overflowed_ = false;
};

// What the API server stores for `text`: canonical, or as written where Go keeps the spelling ("0012", "1.500").
[[nodiscard]] base::result<std::string> normal_quantity(std::string_view text);

}  // namespace cotrain::api
