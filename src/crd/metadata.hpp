// What metadata of an object may hold.
#pragma once

#include <span>
#include <string_view>

namespace cotrain::crd {

// The names of its members.
[[nodiscard]] std::span<const std::string_view> metadata_members();

}  // namespace cotrain::crd
