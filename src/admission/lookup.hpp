// What a review must know of the cluster, asked one object at a time. Who answers a webhook answers from its stores:
// nothing is requested for somebody who may be anybody.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/jobset.hpp"
#include "api/names.hpp"
#include "doc/tree.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::admission {

// One object by name. The type is a TrainJob, TrainingRuntime, ClusterTrainingRuntime, ConfigMap, JobSet or
// PriorityClass.
struct question {
    const api::resource_type* type = nullptr;
    std::string ns;  // empty = cluster-wide
    std::string name;
};

// What was found. With presence::exists one of `runtime`, `job_set` and `document` is given; none of a PriorityClass,
// and none of a snapshot or TrainJob whose content is not known. `document` and what `job_set` views must live as long
// as the review.
struct answer {
    runtime::presence state = runtime::presence::missing;
    std::shared_ptr<const runtime::compiled_runtime> runtime{};  // of a runtime or snapshot, where it is at hand
    std::optional<api::job_set> job_set{};                       // of a JobSet, where it is at hand
    doc::ref document{};
    std::string why{};  // it is missing or unreadable, in the caller's words; may be empty
};

}  // namespace cotrain::admission
