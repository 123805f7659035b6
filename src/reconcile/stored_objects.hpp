// From records of the stores to the structs that planning and status work on.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/jobset.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "doc/arena.hpp"
#include "watch/cluster.hpp"

namespace cotrain::reconcile {

struct stored_object {
    const watch::object_record* record = nullptr;  // null: there is none
    const watch::object_body* body = nullptr;

    // Equal as long as nobody changes it: the version of a file, the digest of other specs. 0: it is not known.
    [[nodiscard]] std::uint64_t state() const;
};

// The job with its stored status. The error is a decoder's: an older CRD let it in.
// `object`: the whole job as the API server sent it, where the store has left its spec out.
[[nodiscard]] base::result<api::train_job> decode_job(doc::arena& memory, const watch::cluster& all,
                                                      const stored_object& stored, std::string_view object = {});
// Name, uid, times, suspension, deadline and status alone: what can be said without its spec.
[[nodiscard]] api::train_job bare_job(doc::arena& memory, const watch::cluster& all, const stored_object& stored);
// The JobSet that is there, without its spec.
[[nodiscard]] api::job_set job_set_of(doc::arena& memory, const watch::cluster& all, const stored_object& set);

}  // namespace cotrain::reconcile
