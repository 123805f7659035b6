// Standard base64 with padding, as kubeconfigs and Basic authentication carry it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cotrain::kube {

// White space anywhere is skipped; nothing else but the alphabet and correct padding is taken.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);
[[nodiscard]] std::string encode_base64(std::string_view bytes);

}  // namespace cotrain::kube
