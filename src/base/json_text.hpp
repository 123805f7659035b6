// Appending JSON scalars to text, for writers that need no document.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cotrain::base {

// Appends `text` as a JSON string with quotes. Control bytes are escaped and invalid UTF-8 becomes U+FFFD, so the
// result is always valid JSON.
void append_json_string(std::string& out, std::string_view text);
void append_json_number(std::string& out, std::int64_t number);
void append_json_number(std::string& out, double number);

}  // namespace cotrain::base
