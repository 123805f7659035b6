// Which TrainJobs and runtimes an event concerns.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "reconcile/cluster.hpp"
#include "reconcile/key.hpp"
#include "reconcile/trainjob_reconciler.hpp"
#include "reconcile/work_queue.hpp"

namespace cotrain::reconcile {

// Keys of TrainJobs have kind 0 here, those of runtimes their watch::kind. Who does not lead wakes nobody: the first
// wake_all() begins its term.
class trainjob_wakes final : public watch::listener {
   public:
    using waker = std::function<void(key, work)>;

    trainjob_wakes(cluster& all, trainjob_reconciler& jobs, waker wake_job, waker wake_runtime)
        : all_(all), jobs_(jobs), wake_job_(std::move(wake_job)), wake_runtime_(std::move(wake_runtime)) {}

    void changed(const watch::object_change& what) override;
    void removed(watch::kind of, const watch::object_record& last) override;
    void synced(watch::kind of) override;
    void missing(watch::kind of) override;

    // Everything there is: at the start of a term.
    void wake_all();

   private:
    [[nodiscard]] work urgency(watch::kind of) const;
    void job(watch::text_id key, work how);
    void owner_of(watch::kind of, const watch::object_record& child);
    void job_changed(const watch::object_change& what);
    void runtime_changed(const watch::object_change& what);
    void suspended_in(std::string_view ns);
    void suspended_of_class(std::string_view runtime_class);
    void jobs_of_runtime(watch::kind of, watch::text_id runtime, bool suspended_only);

    cluster& all_;
    trainjob_reconciler& jobs_;
    waker wake_job_;
    waker wake_runtime_;
    std::array<bool, watch::kinds> live_{};
    std::array<bool, watch::kinds> gone_{};  // the server does not know the kind
    bool leads_ = false;
    std::string scratch_;
};

}  // namespace cotrain::reconcile
