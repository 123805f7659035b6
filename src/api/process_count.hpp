// numProcPerNode: an integer, or in the earlier dialect a text.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/decode.hpp"

namespace cotrain::api {

struct process_count {
    enum class form : std::uint8_t { unset, number, automatic, cpu, gpu };
    form kind = form::unset;
    std::int32_t count = 0;        // with number
    bool written_as_text = false;  // "8" instead of 8, or any of the words

    [[nodiscard]] bool is_set() const { return kind != form::unset; }
    [[nodiscard]] bool is_number() const { return kind == form::number; }
};

// The word for a form that has one: "auto", "cpu", "gpu".
[[nodiscard]] std::string_view to_string(process_count::form form);

// Reads a member; anything but an integer, a numeric text, auto, cpu or gpu is a mistake.
[[nodiscard]] process_count decode_process_count(const place& object, std::string_view key);

}  // namespace cotrain::api
