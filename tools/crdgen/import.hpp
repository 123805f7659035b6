// Turns the OpenAPI documents of an API server into the compact types that ours embed.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace cotrain::crdgen {

// OpenAPI v3 of api/v1, apis/batch/v1 and apis/jobset.x-k8s.io/v1alpha2.
struct published {
    std::string_view core;
    std::string_view batch;
    std::string_view job_set;
};

// The text of src/crd/kubernetes.json.inc.
[[nodiscard]] base::result<std::string> import_types(const published& documents);

}  // namespace cotrain::crdgen
