// What the stores need not keep of jobs that have ended.
#pragma once

#include "watch/object_store.hpp"

namespace cotrain::watch {

// Whether nothing will be made for that job again, whatever becomes of its JobSet: its ConfigMaps and Secrets are of no
// interest any more. A Failed that somebody made up may be taken back, and is none.
[[nodiscard]] inline bool needs_no_files(const object_record& job) { return job.complete || job.past_deadline; }

// Whether its JobSet is of no interest either once the job has its last counts: it is not waited for or deleted.
[[nodiscard]] inline bool needs_no_set(const object_record& job) { return job.complete && !job.past_deadline; }

// Whoever finds such a job reopened has to ask for what it needs of these: no event tells of them again.
struct child_stores {
    object_store* sets;
    object_store* config_maps;
    object_store* secrets;
};

// Of a finished job: its JobSet loses its body once the job has its last counts, or goes altogether; the records of its
// files go. Nobody is told, since nothing of it matters to anybody.
void shrink_finished(const object_store& jobs, const object_record& job, const child_stores& children);

}  // namespace cotrain::watch
