// base64 with padding, as Secrets, CA bundles and webhooks' patches carry it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cotrain::sim {

[[nodiscard]] std::string encode_base64(std::string_view bytes);
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace cotrain::sim
