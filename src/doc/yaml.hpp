// YAML text, as Kubernetes tools read and print it, to documents and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "doc/json.hpp"
#include "doc/tree.hpp"

namespace cotrain::doc {

// Values that aliases may add up to: without it a few lines could mean billions.
inline constexpr std::size_t yaml_values_max = 10'000'000;
// Bytes that aliases may add up to, each value counted with a few bytes more than its text: some for every text, eight
// times as many as the text has, and no more than these.
inline constexpr std::size_t yaml_expanded_bytes_free = 64UL * 1024;
inline constexpr std::size_t yaml_expanded_per_byte_max = 8;
inline constexpr std::size_t yaml_expanded_bytes_max = 16UL * 1024 * 1024;
// Documents in one stream.
inline constexpr std::size_t yaml_documents_max = 100'000;
// %TAG lines in one text: libyaml compares each with those before it.
inline constexpr std::size_t yaml_tag_directives_max = 100;
// Warnings about one text; the rest is left out.
inline constexpr std::size_t yaml_warnings_max = 20;

// One document of a stream and the line it starts at.
struct yaml_document {
    ref value;
    std::size_t line = 1;
    // "line L, column C: what": names that occur twice in one object. The last value counts, as for kubectl.
    std::vector<std::string> warnings{};
};

// Whether a text may use `*name` for what it anchored before. What programs write for programs has none.
enum class yaml_aliases : bool { refused, taken };

// YAML 1.1 as sigs.k8s.io/yaml reads it: plain yes/no/on/off are booleans, 010 and 0o10 are octal, keys become
// strings, `<<` replaces what comes before it. A text that starts with '{' and is JSON, or one JSON object after the
// other, is read as JSON. Documents are frozen and refer to nothing but `memory`. Errors say "line L, column C: what".
[[nodiscard]] base::result<std::vector<yaml_document>> parse_yaml_stream(arena& memory, std::string_view text,
                                                                         read_limits limits = {},
                                                                         yaml_aliases aliases = yaml_aliases::taken);
// The only document of a text (null if it is empty); a second one is an error, and so is a warning.
[[nodiscard]] base::result<ref> parse_yaml(arena& memory, std::string_view text, read_limits limits = {},
                                           yaml_aliases aliases = yaml_aliases::taken);

// Block style with sorted keys; strings are quoted where they would read as something else. Ends with a newline.
void append_yaml(std::string& out, ref document);
[[nodiscard]] std::string to_yaml(ref document);
// As append_yaml(), but ends soon after `bytes_max`: false, and the beginning of the text, if the rest is missing.
[[nodiscard]] bool append_yaml(std::string& out, ref document, std::size_t bytes_max);

}  // namespace cotrain::doc
