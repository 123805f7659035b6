// What one TrainJob and its runtime amount to: the template that plugins fill in, and the pods that come of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/names.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "doc/edit.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/container.hpp"
#include "runtime/endpoints.hpp"

namespace cotrain::runtime {

struct pod_set {
    std::string_view name;      // of the replicated job
    std::string_view ancestor;  // trainer, dataset-initializer, …; empty = none
    std::size_t index = 0;      // in the template's replicatedJobs
    std::int32_t count = 1;     // pods of one replica: what parallelism and completions become
    std::int32_t replicas = 1;
    endpoints hosts;  // from IdentifyPodNetwork on

    [[nodiscard]] std::int64_t pods() const {
        return std::int64_t{std::max(count, 0)} * std::int64_t{std::max(replicas, 0)};
    }
    // The field with a number that each Pod has for itself, from 0 on; nothing where there is none.
    [[nodiscard]] std::optional<doc::word> rank_field() const {
        if (replicas <= 1) return api::names::completion_index_field;
        if (count == 1) return api::names::job_index_field;
        return std::nullopt;
    }
};

struct patched_template {
    doc::ref spec;  // of the JobSet
    doc::ref labels;
    doc::ref annotations;
};

// All patches in their order, merged by the API's keys; replicated jobs keep the order of the runtime.
[[nodiscard]] base::result<patched_template> apply_patches(doc::arena& memory, const patched_template& before,
                                                           const api::train_job& job);

// Made for one plan or one review, in the memory given; nothing in it outlives that.
class info {
   public:
    // Runtime with the job's patches and overrides, pods counted as mlPolicy says, resourcesPerNode laid on.
    // `runtime` and `job` must outlive the info.
    [[nodiscard]] static base::result<info> make(doc::arena& memory, const compiled_runtime& runtime,
                                                 const api::train_job& job);

    // The same job with the pods of its JobSet that is there, whatever its runtime would make of it now. `spec`, the
    // JobSet's, must outlive it.
    [[nodiscard]] info with_pods_of(doc::ref spec) const;

    [[nodiscard]] doc::arena& memory() const { return *memory_; }
    [[nodiscard]] const compiled_runtime& runtime() const { return *runtime_; }
    [[nodiscard]] const api::ml_policy* ml() const { return runtime_->ml(); }
    [[nodiscard]] const api::pod_group_policy* pod_groups() const { return runtime_->pod_groups(); }

    // The spec of the JobSet to be.
    [[nodiscard]] doc::editor spec() const { return spec_; }
    // Its labels and annotations: of template.metadata and the patches' metadata.
    [[nodiscard]] doc::ref labels() const { return labels_; }
    [[nodiscard]] doc::ref annotations() const { return annotations_; }
    // What schedulers want on every pod.
    std::vector<std::pair<std::string_view, std::string>> pod_labels;
    std::vector<std::pair<std::string_view, std::string>> pod_annotations;

    // Of a job whose number of nodes may change while it runs.
    std::optional<api::elastic_policy> elastic;
    // Pods of a set that have to be there before any of them starts.
    [[nodiscard]] std::int64_t gang_pods(const pod_set& set) const;

    [[nodiscard]] std::vector<pod_set>& pod_sets() { return pod_sets_; }
    [[nodiscard]] const std::vector<pod_set>& pod_sets() const { return pod_sets_; }
    [[nodiscard]] pod_set* find(std::string_view name);
    [[nodiscard]] const pod_set* find(std::string_view name) const;
    // The pods that train: labelled as such, or in a runtime without labels those of job "node".
    [[nodiscard]] pod_set* trainer();
    [[nodiscard]] const pod_set* trainer() const;
    // Pods that train; 1 where no job does. No more than can be counted.
    [[nodiscard]] std::int64_t nodes() const;
    // Where each of them reads its rank; nothing where no field tells.
    [[nodiscard]] std::optional<doc::word> rank_field() const;
    // Of all sets together; the largest number if they are beyond counting.
    [[nodiscard]] std::int64_t pods() const;
    // The plan has taken what it may: loops over pod sets end, and the framework refuses the plan.
    [[nodiscard]] bool full() const { return memory_->exceeded(); }

    // Documents behind a pod set.
    [[nodiscard]] doc::editor replicated_job(const pod_set& set) const;
    [[nodiscard]] doc::editor job_spec(const pod_set& set) const;
    [[nodiscard]] doc::editor pod_template(const pod_set& set) const;
    [[nodiscard]] doc::editor pod_spec(const pod_set& set) const;
    [[nodiscard]] doc::ref pod_spec_view(const pod_set& set) const;
    // One container, ordinary ones before init containers; nothing if there is none of that name.
    [[nodiscard]] container find_container(const pod_set& set, std::string_view name) const;
    [[nodiscard]] doc::ref container_view(const pod_set& set, std::string_view name) const;
    // The container "node" of the trainer.
    [[nodiscard]] container trainer_container();
    [[nodiscard]] doc::ref trainer_resources() const;

    // Where pods find each other: template.spec.network.subdomain or the job's name.
    [[nodiscard]] std::string_view subdomain() const { return subdomain_; }
    // The trainer's first pod, also before IdentifyPodNetwork: no count changes its name.
    [[nodiscard]] host_name master() const;

    // Takes the place of the job's own command and arguments, for plugins that wrap them.
    void wrap_command(doc::ref command) { command_ = command; }
    void wrap_args(doc::ref args) { args_ = args; }
    [[nodiscard]] doc::ref command() const { return command_; }  // absent: the template's stays
    [[nodiscard]] doc::ref args() const { return args_; }

   private:
    info(doc::arena& memory, const compiled_runtime& runtime, const api::train_job& job);
    void take_spec(doc::editor spec);
    void list_pod_sets();
    void count_pods();
    void name_trainer();
    [[nodiscard]] std::size_t place_of(std::string_view name) const;
    [[nodiscard]] base::result<> lay_resources(const api::train_job& job);

    doc::arena* memory_;
    const compiled_runtime* runtime_;
    std::string_view job_name_;
    doc::editor spec_;
    doc::ref labels_;
    doc::ref annotations_;
    std::vector<pod_set> pod_sets_;
    std::vector<std::uint32_t> by_name_;  // their places sorted by name; empty where they are few
    // What was made editable before, by the pod set's index: editors stay valid, and the way down is long.
    struct opened {
        doc::editor job_spec;
        doc::editor pod_spec;
    };
    mutable std::vector<opened> opened_;
    std::string_view subdomain_;
    doc::ref command_;
    doc::ref args_;
};

}  // namespace cotrain::runtime
