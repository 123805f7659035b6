// What holds for the objects of every plan, whatever plugins made them.
#pragma once

#include <vector>

#include "api/arena.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/object.hpp"
#include "runtime/observed.hpp"
#include "runtime/phases.hpp"

namespace cotrain::runtime {

// The snapshot, unless the job has it already.
[[nodiscard]] base::result<> begin_objects(api::arena& memory, const api::train_job& job,
                                           const compiled_runtime& runtime, const observed& seen, object_list& out);

// An object of the needed name that this TrainJob does not control is never adopted (contract, difference 21).
[[nodiscard]] base::result<> refuse_foreign(const object_list& objects, const observed& seen);
[[nodiscard]] std::unexpected<base::error> foreign_child(const api::resource_type& type, std::string_view name);

// Without duplicates.
void add_source(std::vector<event_source>& all, const event_source& source);

}  // namespace cotrain::runtime
