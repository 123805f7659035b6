// JSON text to documents and back.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.hpp"
#include "doc/tree.hpp"

namespace cotrain::doc {

// Larger texts are refused unread: above any object of a cluster (1.5 MiB) and any bundle of manifests.
inline constexpr std::size_t document_bytes_max = 32UL * 1024 * 1024;

struct read_limits {
    std::size_t bytes_max = document_bytes_max;
    unsigned depth_max = tree_depth_max;
};

// Strict: one value, valid UTF-8, no trailing bytes. Of members with the same name the last counts, as in Go.
// The document is frozen and refers to `text`, which must outlive it…
[[nodiscard]] base::result<ref> parse_json(arena& memory, std::string_view text, read_limits limits = {});
template <class Text>
    requires std::same_as<std::remove_cv_t<Text>, std::string>
base::result<ref> parse_json(arena& memory, Text&& text, read_limits limits = {}) = delete;  // gone before the document
// …or to a copy of it in the arena.
[[nodiscard]] base::result<ref> parse_json_copy(arena& memory, std::string_view text, read_limits limits = {});

// The value that `text` starts with; `text` is then what follows it. Refers to the text, too.
[[nodiscard]] base::result<ref> parse_json_prefix(arena& memory, std::string_view& text, read_limits limits = {});

// Compact, members as stored. An absent document is null.
void append_json(std::string& out, ref document);
[[nodiscard]] std::string to_json(ref document);
// As append_json(), but ends soon after `bytes_max`: false, and the beginning of the text, if the rest is missing.
[[nodiscard]] bool append_json(std::string& out, ref document, std::size_t bytes_max);
// For messages: at most `bytes_max` bytes, with "…" where something was cut.
[[nodiscard]] std::string shown_json(ref document, std::size_t bytes_max);
// Members sorted by name at every level.
void append_sorted_json(std::string& out, ref document);
// For people: one member a line.
void append_indented_json(std::string& out, ref document, unsigned indent = 4);

}  // namespace cotrain::doc
