// A TrainJob of a cluster in words: state, conditions, failures, children, and who set each field of its JobSet. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/cluster_objects.hpp"
#include "app/explain/layers.hpp"
#include "app/explain/print.hpp"
#include "doc/tree.hpp"

namespace cotrain::app {

// The fields of a JobSet that is there: what is as planned has the plan's layer; of the rest, who owns it by
// metadata.managedFields, or that nobody does: a default.
[[nodiscard]] layer_map live_layers(doc::ref job_set, const explained& planned);

// {"metadata": {"labels", "annotations"}, "spec"} of a JobSet that is there.
[[nodiscard]] doc::ref explained_part(doc::arena& memory, doc::ref job_set);

// Lines about the job: state, message, nodes, restarts, conditions, failures; fields that are absent are not told.
[[nodiscard]] std::string describe_job(doc::ref train_job, std::string_view runtime);
// A line for each child, and one for each manager of the JobSet.
[[nodiscard]] std::string describe_children(const std::vector<found_object>& children);

}  // namespace cotrain::app
