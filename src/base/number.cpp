#include "base/number.hpp"

#include <glaze/util/fast_float.hpp>

namespace cotrain::base {

std::from_chars_result from_chars(const char* first, const char* last, double& value) {
    const auto [end, problem] = glz::fast_float::from_chars(first, last, value);
    return {end, problem};
}

}  // namespace cotrain::base
