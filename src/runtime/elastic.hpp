// Elastic jobs, whose number of nodes may change while they run (gate ElasticTrainJob).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/runtime.hpp"
#include "api/trainjob.hpp"
#include "doc/tree.hpp"
#include "runtime/info.hpp"
#include "runtime/object.hpp"

namespace cotrain::runtime {

// Within which sizes a job may change: its annotation says it, else its runtime. Nothing of a job that is not elastic,
// or whose annotation is malformed.
[[nodiscard]] std::optional<api::elastic_policy> elastic_of(const api::train_job& job, const api::ml_policy* ml);

// What is wrong with the annotation: "" where nothing is.
[[nodiscard]] std::string annotation_fault(const api::train_job& job, const api::ml_policy* ml);

// Why that many nodes cannot be: "" where they can.
[[nodiscard]] std::string size_fault(const api::node_range& range, std::int64_t nodes);

// The counts of the trainer's job of a JobSet that runs, to be applied alone: nothing where they are so. Not of a
// JobSet whose Pods were made with a fixed number of nodes.
[[nodiscard]] base::result<std::optional<object>> resize(const info& i, const api::train_job& job,
                                                         const api::job_set& existing);

}  // namespace cotrain::runtime
