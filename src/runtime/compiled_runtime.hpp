// Runtimes ready for plans, and the snapshots that jobs keep of them.
#pragma once

#include <memory>
#include <string_view>

#include "api/runtime.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "runtime/object.hpp"

namespace cotrain::runtime {

// Immutable and self-contained: shared by all jobs that use the runtime.
class compiled_runtime {
   public:
    // From a TrainingRuntime or ClusterTrainingRuntime as the API server or a snapshot has it.
    [[nodiscard]] static base::result<std::shared_ptr<const compiled_runtime>> compile(doc::ref document);

    compiled_runtime(const compiled_runtime&) = delete;
    compiled_runtime& operator=(const compiled_runtime&) = delete;

    [[nodiscard]] const api::training_runtime& runtime() const { return runtime_; }
    [[nodiscard]] std::string_view name() const { return runtime_.meta.name; }
    [[nodiscard]] const api::ml_policy* ml() const { return runtime_.ml ? &*runtime_.ml : nullptr; }
    [[nodiscard]] const api::pod_group_policy* pod_groups() const {
        return runtime_.pod_groups ? &*runtime_.pod_groups : nullptr;
    }
    // The JobSet's spec, normalised and frozen with its text.
    [[nodiscard]] doc::ref spec() const { return runtime_.template_spec; }
    // {"runtime": "<YAML>"}, frozen with its text: the data of a snapshot's ConfigMap.
    [[nodiscard]] doc::ref snapshot_data() const { return snapshot_data_; }
    [[nodiscard]] std::size_t bytes() const { return memory_.bytes_reserved(); }

   private:
    compiled_runtime() = default;

    doc::arena memory_{doc::plan_bytes_max};
    api::training_runtime runtime_;
    doc::ref snapshot_data_;
};

// The ConfigMap to apply where there is none yet.
[[nodiscard]] object make_snapshot(doc::arena& memory, const api::train_job& job, const compiled_runtime& runtime);

// The runtime in the job's snapshot. One that belongs to another object, cannot be read or holds another runtime
// than the job refers to is an error; so is, before anything of it is read, one that has not the hash that was recorded
// of it: `recorded`, or else what the status in the job's document says, if anything.
[[nodiscard]] base::result<std::shared_ptr<const compiled_runtime>> read_snapshot(const api::train_job& job,
                                                                                  doc::ref config_map,
                                                                                  std::string_view recorded = {});

}  // namespace cotrain::runtime
