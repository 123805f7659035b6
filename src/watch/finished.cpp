// Records shrink and go.
#include "watch/finished.hpp"

#include <array>

namespace cotrain::watch {

namespace {

void shrink_set(const object_store& jobs, const object_record& job, object_store& sets) {
    const auto at = sets.find(job.key);
    const object_record* const set = at ? sets.get(*at) : nullptr;
    if (set == nullptr || set->owner != job.id || sets.counts_print(*set) != jobs.counts_print(job)) return;
    if (needs_no_set(job)) {
        sets.remove(*at);
    } else {
        sets.collapse(*at);
    }
}

void forget_files(const object_record& job, object_store& files) {
    constexpr std::size_t most = 8;  // kinds of files that a job can have
    std::array<handle, most> found{};
    std::size_t count = 0;
    files.for_each_of(job.key, [&](handle h, const object_record& r) {
        if (r.owner == job.id && count < most) found[count++] = h;
    });
    for (std::size_t i = 0; i < count; ++i) files.remove(found[i]);
}

}  // namespace

void shrink_finished(const object_store& jobs, const object_record& job, const child_stores& children) {
    if (!job.terminal()) return;
    shrink_set(jobs, job, *children.sets);
    if (!needs_no_files(job)) return;
    forget_files(job, *children.config_maps);
    forget_files(job, *children.secrets);
}

}  // namespace cotrain::watch
