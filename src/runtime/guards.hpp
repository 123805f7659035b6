// What holds for the objects of every plan, whatever plugins made them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/arena.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/info.hpp"
#include "runtime/object.hpp"
#include "runtime/observed.hpp"
#include "runtime/phases.hpp"

namespace cotrain::runtime {

// The snapshot, unless the job has it already.
[[nodiscard]] base::result<> begin_objects(api::arena& memory, const api::train_job& job,
                                           const compiled_runtime& runtime, const observed& seen, object_list& out);

// An object of the needed name that this TrainJob does not control is never adopted (contract, difference 21).
[[nodiscard]] base::result<> refuse_foreign(const object_list& objects, const observed& seen);
// Whether one that nobody controls is used as it is: a PodGroup, or the Secret for ssh if it is a complete pair of
// keys. `object`: the whole of it, where it is a Secret.
[[nodiscard]] bool is_premade(const api::resource_type& type, std::string_view name, api::ref object);
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

// Without duplicates.
void add_source(std::vector<event_source>& all, const event_source& source);

}  // namespace cotrain::runtime
