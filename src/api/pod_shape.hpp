// Whether the embedded Kubernetes types have the shape that plugins rely on when they walk through them.
#pragma once

#include <string_view>

#include "api/decode.hpp"

namespace cotrain::api {

// Each reports mistakes to the place's decoding; absent parts and fields that nobody here reads are fine.

// A member that is a list of strings, or a list of objects that each have a name.
void check_string_list(const place& object, std::string_view key);
void check_named_list(const place& object, std::string_view key);
// Member env: a list of variables, whose sources are objects.
void check_env(const place& object);
// Members labels and annotations: text to text.
void check_labels(const place& metadata);
// Members requests and limits: quantities by resource.
void check_resources(const place& resources);
// containers, initContainers, volumes and what is merged into them.
void check_pod_spec(const place& spec);
// A JobSet's metadata and spec down to its pods.
void check_job_set_template(const place& job_set);

}  // namespace cotrain::api
