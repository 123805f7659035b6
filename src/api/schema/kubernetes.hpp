// The types that Kubernetes and JobSet publish, as far as ours embed them.
#pragma once

#include "api/schema/read.hpp"

namespace cotrain::api::schema {

// From kubernetes.json.inc, which tools/crdgen/refresh.sh makes of a real API server's OpenAPI. Throws
// std::logic_error if that file is not what the tool makes.
[[nodiscard]] const library& kubernetes_types();

}  // namespace cotrain::api::schema
