// What the store keeps of each kind of object.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "watch/kinds.hpp"
#include "watch/object_body.hpp"

namespace cotrain::watch {

// Projections refer to the object, the reader and this projector: use one before the next is made.
class projector {
   public:
    // In the group of its runtime. Kept besides the spec: the annotation in which the webhook keeps a process count.
    // Finished jobs keep no body, unless they have a time to live that somebody has to remember.
    [[nodiscard]] const projection& train_job(const object_view& object, const train_job_reader& parts);
    // In the group of the TrainJob that controls it. Spec, labels and annotations are kept only while it is suspended:
    // nobody compares them after. `job_settled`: its TrainJob is finished and says so, counts included, so no body is
    // needed.
    [[nodiscard]] const projection& job_set(const object_view& object, const job_set_reader& parts, bool job_settled);
    // Runtimes: spec, and of the metadata labels, annotations and finalizers.
    [[nodiscard]] const projection& runtime(const object_view& object);
    // PodGroups, LimitRanges (spec), RuntimeClasses (overhead): whatever of these there is. In the group of the
    // TrainJob that controls it, if one does.
    [[nodiscard]] const projection& plain(const object_view& object);
    // Secrets and ConfigMaps: no more than who they are and whose; each version counts as a change.
    [[nodiscard]] const projection& metadata(const object_view& object);

   private:
    void begin(const object_view& object);
    void find_owner(const object_view& object);
    void keep_metadata(std::initializer_list<std::pair<std::string_view, std::string_view>> members);
    void find_outcome(const status_lists& status);

    projection out_;
    std::string group_;
    std::string extra_;
};

// Whether a TrainJob controls the object.
[[nodiscard]] bool owned_by_train_job(const object_view& object);

}  // namespace cotrain::watch
