// Bytes as text: what Secrets and certificates are written in.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cotrain::plugins {

[[nodiscard]] std::string base64(std::string_view bytes);

// ZeroMQ's encoding (RFC 32/Z85): five characters for four bytes; their number must divide by four.
[[nodiscard]] std::string z85(std::string_view bytes);

}  // namespace cotrain::plugins
