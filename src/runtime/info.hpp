// What one TrainJob and its runtime amount to: the template that plugins fill in, and the pods it stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/edit.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/container.hpp"
#include "runtime/pod_set.hpp"

namespace cotrain::runtime {

// Made for one plan or one review, in the memory given; nothing in it outlives that.
class info {
   public:
    // Runtime with the job's patches and overrides, pods counted as mlPolicy says, resourcesPerNode laid on.
    // `runtime` and `job` must outlive the info.
    [[nodiscard]] static base::result<info> make(api::arena& memory, const compiled_runtime& runtime,
                                                 const api::train_job& job);

    // The same job with the pods of its JobSet that is there, whatever its runtime would make of it now. `spec`, the
    // JobSet's, must outlive it.
    [[nodiscard]] info with_pods_of(api::ref spec) const;

    [[nodiscard]] api::arena& memory() const { return *memory_; }
    [[nodiscard]] const compiled_runtime& runtime() const { return *runtime_; }
    [[nodiscard]] const api::ml_policy* ml() const { return runtime_->ml(); }
    [[nodiscard]] const api::pod_group_policy* pod_groups() const { return runtime_->pod_groups(); }

    // The spec of the JobSet to be.
    [[nodiscard]] api::editor spec() const { return spec_; }
    // Its labels and annotations: of template.metadata and the patches' metadata.
    [[nodiscard]] api::ref labels() const { return labels_; }
    [[nodiscard]] api::ref annotations() const { return annotations_; }
    // What schedulers want on every pod.
    std::vector<std::pair<std::string_view, std::string>> pod_labels;
    std::vector<std::pair<std::string_view, std::string>> pod_annotations;

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
    [[nodiscard]] std::optional<api::word> rank_field() const;
    // Of all sets together; the largest number if they are beyond counting.
    [[nodiscard]] std::int64_t pods() const;
    // The plan has taken what it may: loops over pod sets end, and the framework refuses the plan.
    [[nodiscard]] bool full() const { return memory_->exceeded(); }

    // Documents behind a pod set.
    [[nodiscard]] api::editor replicated_job(const pod_set& set) const;
    [[nodiscard]] api::editor job_spec(const pod_set& set) const;
    [[nodiscard]] api::editor pod_template(const pod_set& set) const;
    [[nodiscard]] api::editor pod_spec(const pod_set& set) const;
    [[nodiscard]] api::ref pod_spec_view(const pod_set& set) const;
    // One container, ordinary ones before init containers; nothing if there is none of that name.
    [[nodiscard]] container find_container(const pod_set& set, std::string_view name) const;
    [[nodiscard]] api::ref container_view(const pod_set& set, std::string_view name) const;
    // The container "node" of the trainer.
    [[nodiscard]] container trainer_container();
    [[nodiscard]] api::ref trainer_resources() const;

    // Where pods find each other: template.spec.network.subdomain or the job's name.
    [[nodiscard]] std::string_view subdomain() const { return subdomain_; }
    // The trainer's first pod, without its domain and with it.
    [[nodiscard]] std::string master_host() const;
    [[nodiscard]] std::string master_address() const;

    // Takes the place of the job's own command and arguments, for plugins that wrap them.
    void wrap_command(api::ref command) { command_ = command; }
    void wrap_args(api::ref args) { args_ = args; }
    [[nodiscard]] api::ref command() const { return command_; }  // absent: the template's stays
    [[nodiscard]] api::ref args() const { return args_; }

   private:
    info(api::arena& memory, const compiled_runtime& runtime, const api::train_job& job);
    void take_spec(api::editor spec);
    void list_pod_sets();
    void count_pods();
    void name_trainer();
    [[nodiscard]] std::size_t place_of(std::string_view name) const;
    [[nodiscard]] base::result<> lay_resources(const api::train_job& job);

    api::arena* memory_;
    const compiled_runtime* runtime_;
    std::string_view job_name_;
    api::editor spec_;
    api::ref labels_;
    api::ref annotations_;
    std::vector<pod_set> pod_sets_;
    std::vector<std::uint32_t> by_name_;  // their places sorted by name; empty where they are few
    // What was made editable before, by the pod set's index: editors stay valid, and the way down is long.
    struct opened {
        api::editor job_spec;
        api::editor pod_spec;
    };
    mutable std::vector<opened> opened_;
    std::string_view subdomain_;
    api::ref command_;
    api::ref args_;
};

}  // namespace cotrain::runtime
