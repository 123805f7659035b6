// A runtime made ready once per (UID, resourceVersion), so that jobs only splice in what is theirs.
#pragma once

#include <memory>
#include <string_view>

#include "api/arena.hpp"
#include "api/runtime.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"

namespace cotrain::runtime {

// Immutable and self-contained: shared by all jobs that use the runtime.
class compiled_runtime {
   public:
    // From a TrainingRuntime or ClusterTrainingRuntime as the API server or a snapshot has it.
    [[nodiscard]] static base::result<std::shared_ptr<const compiled_runtime>> compile(api::ref document);

    compiled_runtime(const compiled_runtime&) = delete;
    compiled_runtime& operator=(const compiled_runtime&) = delete;

    [[nodiscard]] const api::training_runtime& runtime() const { return runtime_; }
    [[nodiscard]] std::string_view name() const { return runtime_.meta.name; }
    [[nodiscard]] const api::ml_policy* ml() const { return runtime_.ml ? &*runtime_.ml : nullptr; }
    [[nodiscard]] const api::pod_group_policy* pod_groups() const {
        return runtime_.pod_groups ? &*runtime_.pod_groups : nullptr;
    }
    // The JobSet's spec, normalised and frozen with its text.
    [[nodiscard]] api::ref spec() const { return runtime_.template_spec; }
    // {"runtime": "<YAML>"}, frozen with its text: the data of a snapshot's ConfigMap.
    [[nodiscard]] api::ref snapshot_data() const { return snapshot_data_; }
    [[nodiscard]] std::size_t bytes() const { return memory_.bytes_reserved(); }

   private:
    compiled_runtime() = default;

    api::arena memory_{api::plan_bytes_max};
    api::training_runtime runtime_;
    api::ref snapshot_data_;
};

}  // namespace cotrain::runtime
