// JSON without a document: scalars appended to text, and how strictly fixed shapes are read.
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

// How strictly JSON of a fixed shape is read, for every such reader: strict_json<glz::opts>{} are Glaze's options.
// One value and nothing but white space behind it. Values of unknown members are skipped, but have to be JSON; strings
// have to be UTF-8 without control bytes. null is as good as absent, the last of two values of a member counts, and
// objects and lists nest 256 deep at most. A member's name is known only as the API server writes it: without escapes.
// Of a name that is not known Glaze looks for the end only: control bytes in it are no mistake.
template <class Options>
struct strict_json : Options {
    bool validate_skipped = true;
    bool validate_trailing_whitespace = true;
    bool skip_null_members_on_read = true;

    constexpr strict_json() {
        this->null_terminated = false;
        this->error_on_unknown_keys = false;
    }
};

}  // namespace cotrain::base
