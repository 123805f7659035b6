// What holds for the objects of every plan, whatever plugins made them, and what gang schedulers get to know of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "doc/arena.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/container.hpp"
#include "runtime/info.hpp"
#include "runtime/object.hpp"
#include "runtime/phases.hpp"

namespace cotrain::runtime {

// The snapshot, unless the job has it already.
[[nodiscard]] base::result<> begin_objects(doc::arena& memory, const api::train_job& job,
                                           const compiled_runtime& runtime, const observed& seen, object_list& out);

// An object of the needed name that this TrainJob does not control is never adopted (contract, difference 21).
[[nodiscard]] base::result<> refuse_foreign(const object_list& objects, const observed& seen);
[[nodiscard]] std::unexpected<base::error> foreign_child(const api::resource_type& type, std::string_view name);

// No object is larger than what the API server reads.
[[nodiscard]] base::result<> refuse_oversized(const object_list& objects);

// Names of the job, its replicated jobs and its subdomain become parts of host names and of texts that programs read:
// each must be a DNS label. Nothing else of a snapshot's names was ever checked.
struct bad_name {
    std::string what;  // "network.subdomain", "replicatedJobs[3].name", "metadata.name"
    std::string_view name;
    std::string fault;
};
[[nodiscard]] std::optional<bad_name> find_bad_name(const info& i, std::string_view job_name);
[[nodiscard]] base::result<> check_names(const info& i, std::string_view job_name);
[[nodiscard]] base::result<> check_pods(const info& i);

// A plugin makes nothing but the children that it declares: the operator would neither watch nor repair it.
[[nodiscard]] base::result<> refuse_undeclared(const object_list& objects, std::span<const child> children,
                                               std::string_view job_name);
// An immutable child that is there is left alone, whatever a plugin made for it.
void keep_immutable(object_list& objects, std::span<const child> children, const observed& seen);
// Whether an immutable child is to be made now. Where another's object is in the way that is an error, or, if that is
// for later, an object without content: the reconciler refuses to apply it.
[[nodiscard]] base::result<bool> to_be_made(const child& of, const api::train_job& job, const observed& seen,
                                            object_list& out);

// Why a runtime cannot be used, and why a configuration cannot.
[[nodiscard]] base::error is_switched_off(std::string_view plugin);
[[nodiscard]] base::error needs_gate(std::string_view gate);
void refuse_field(std::string_view field, std::string_view gate, const api::training_runtime& runtime, doc::ref before,
                  verdict& out);
[[nodiscard]] base::error not_optional(std::string_view plugin, std::string_view optional);

struct gang {
    std::int32_t members = 0;
    resource_list resources;  // of all pods together
};

// Replicas count (contract, difference 9); of an elastic job the fewest nodes that it may have.
[[nodiscard]] base::result<gang> gang_of(const info& i);

// The job's PodGroup of a gang scheduler, with its size set; nothing while there is one and the job has its JobSet and
// is not suspended: that one is left alone. Nothing either for a job of no Pods.
[[nodiscard]] base::result<std::optional<doc::editor>> pod_group_of(const info& i, const api::train_job& job,
                                                                    const observed& seen,
                                                                    const api::resource_type& type);

// spec.trainer.numNodes becomes the number of the trainer's pods.
void scale_trainer(info& i, const api::train_job& job);

}  // namespace cotrain::runtime
