// Base64 for URLs without padding (RFC 4648, 5), as tokens carry it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cotrain::serve {

// Strict: one text for each run of bytes, so that a token has one spelling only.
[[nodiscard]] std::optional<std::string> decode_base64url(std::string_view text);

}  // namespace cotrain::serve
