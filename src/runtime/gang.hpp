// What a gang scheduler has to admit at once: all pods of a job and all they ask for; and how jobs set its size.
#pragma once

#include <cstdint>
#include <optional>

#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "runtime/info.hpp"
#include "runtime/observed.hpp"
#include "runtime/resources.hpp"

namespace cotrain::runtime {

struct gang {
    std::int32_t members = 0;
    resource_list resources;  // of all pods together
};

// Replicas count (contract, difference 9).
[[nodiscard]] base::result<gang> gang_of(const info& i);

// The job's PodGroup of a gang scheduler, with its size set; nothing while there is one and the job has its JobSet and
// is not suspended: that one is left alone. Nothing either for a job of no Pods.
[[nodiscard]] base::result<std::optional<api::editor>> pod_group_of(const info& i, const api::train_job& job,
                                                                    const observed& seen,
                                                                    const api::resource_type& type);

// spec.trainer.numNodes becomes the number of the trainer's pods.
void scale_trainer(info& i, const api::train_job& job);

}  // namespace cotrain::runtime
