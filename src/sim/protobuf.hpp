// Protobuf bodies of the built-in kinds: kubectl and controller-runtime send Go types so, and take JSON back.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::sim {

inline constexpr unsigned protobuf_depth_max = 40;

// The body as the document that its JSON would be. Fields that are not known here are left out, kinds that are not
// known are errors.
[[nodiscard]] std::expected<doc::ref, std::string> read_protobuf(doc::arena& memory, std::string_view body);

}  // namespace cotrain::sim
