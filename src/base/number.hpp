// Decimal texts to floating point, whatever the locale is.
#pragma once

#include <charconv>

namespace cotrain::base {

// As std::from_chars, which libc++ has for integers only.
std::from_chars_result from_chars(const char* first, const char* last, double& value);

}  // namespace cotrain::base
