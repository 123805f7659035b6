// What a YAML scalar means: YAML 1.1's booleans, numbers and nulls, with or without a tag.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doc/tree.hpp"

namespace cotrain::doc {

enum class yaml_tag : std::uint8_t { none, string, integer, floating, boolean, null, binary, other };

// "str" (of !!str), "int", …; anything unknown is `other`, which leaves text as it is.
[[nodiscard]] yaml_tag yaml_tag_named(std::string_view name);

// `plain`: written without quotes, so that it may be more than text. Nothing if the text does not fit the tag or
// has no JSON form (.inf); `problem` says why.
[[nodiscard]] std::optional<ref> resolve_yaml(arena& memory, yaml_tag tag, std::string_view text, bool plain,
                                              std::string& problem);

// The name that a scalar key gets in JSON: numbers and booleans become text. Nothing for null and containers.
[[nodiscard]] std::optional<ref> yaml_key(arena& memory, ref key);

}  // namespace cotrain::doc
