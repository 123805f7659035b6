// Any two texts as quantities: spelling is stable and loses nothing, arithmetic keeps its laws.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "api/quantity.hpp"

namespace {

using cotrain::api::normal_quantity;
using cotrain::api::quantity;

void demand(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t half = input.find('+', 1);
    const auto a = quantity::parse(input.substr(0, half));
    if (!a) return 0;
    const std::string text = a->to_string();
    if (const auto again = quantity::parse(text)) {
        demand(*again == *a);
        // 0.9765625Ki is spelled 1000, as it is no multiple of 1024; that is decimal, whose spelling is 1k and stays
        // so.
        const std::string decimal = again->to_string();
        const auto last = quantity::parse(decimal);
        demand(last && *last == *a && last->to_string() == decimal);
    }
    demand(normal_quantity(input.substr(0, half)).has_value());
    demand((a->value() > 0) == (a->sign() > 0));
    const auto b = quantity::parse(half == std::string_view::npos ? std::string_view("1") : input.substr(half + 1));
    if (!b) return 0;
    const quantity sum = *a + *b;
    demand(sum == *b + *a);
    demand((*a < *b) == (*b > *a));
    if (!sum.overflowed() && !(sum - *b).overflowed()) demand(sum - *b == *a);
    const quantity tripled = *a * 3;
    if (!tripled.overflowed() && !(*a + *a + *a).overflowed()) demand(tripled == *a + *a + *a);
    return 0;
}
