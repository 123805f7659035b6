// Text into gzip (RFC 1952).
#pragma once

#include <string>
#include <string_view>

namespace cotrain::serve {

[[nodiscard]] std::string gzip(std::string_view text);

}  // namespace cotrain::serve
