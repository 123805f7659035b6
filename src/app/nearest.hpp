// "did you mean …?": the word among those known that a misspelt one is closest to.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cotrain::app {

// Longer words are not compared, and neither are more than that many.
inline constexpr std::size_t nearest_word_max = 64;
inline constexpr std::size_t nearest_words_max = 1000;

// Letters to insert, to remove, to replace or to exchange with their neighbour; case does not count. `none_above` and
// more is none_above + 1.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t none_above);

// The nearest, if a third of its letters at most are wrong; of several that are as near the first. Empty: none.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

// "; did you mean \"numNodes\"?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace cotrain::app
