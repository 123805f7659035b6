// Whether the embedded Kubernetes types have the shape that plugins rely on, and numProcPerNode.
#pragma once

#include <cstdint>
#include <string_view>

#include "doc/decode.hpp"

namespace cotrain::api {

// numProcPerNode: an integer, or in the earlier dialect a text.
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
[[nodiscard]] process_count decode_process_count(const doc::place& object, std::string_view key);

// Each reports mistakes to the place's decoding; absent parts and fields that we do not read are fine.

// A member that is a list of strings, or a list of objects that each have a name.
void check_string_list(const doc::place& object, std::string_view key);
void check_named_list(const doc::place& object, std::string_view key);
// Member env: a list of variables, whose sources are objects.
void check_env(const doc::place& object);
// Members labels and annotations: text to text.
void check_labels(const doc::place& metadata);
// Members requests and limits: quantities by resource.
void check_resources(const doc::place& resources);
// containers, initContainers, volumes and what is merged into them.
void check_pod_spec(const doc::place& spec);
// A JobSet's metadata and spec down to its pods.
void check_job_set_template(const doc::place& job_set);

}  // namespace cotrain::api
