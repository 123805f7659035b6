// Which TrainJobs and runtimes a watch event enqueues.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "reconcile/key.hpp"
#include "reconcile/trainjob/reconciler.hpp"
#include "reconcile/work_queue.hpp"
#include "watch/cluster.hpp"

namespace cotrain::reconcile {

// Keys of TrainJobs have kind 0 here, those of runtimes their watch::kind. A replica that does not lead enqueues
// nothing: enqueue_all() begins its term.
class event_handlers final : public watch::listener {
   public:
    using queue = std::function<void(key, work)>;

    event_handlers(watch::cluster& all, trainjob_reconciler& jobs, queue of_jobs, queue of_runtimes);

    void changed(const watch::object_change& what) override;
    void removed(watch::kind of, const watch::object_record& last) override;
    void synced(watch::kind of) override;
    void missing(watch::kind of) override;
    // The answer to a request of ours was first to tell. The run that asked sees it; other jobs have to be woken.
    void answered(const watch::object_change& what);

    // Everything there is: at the start of a term.
    void enqueue_all();

   private:
    [[nodiscard]] work urgency(watch::kind of) const;
    [[nodiscard]] bool wakes(watch::kind of, runtime::event_source::wakes whom) const {
        return (wakes_[static_cast<std::size_t>(of)] >> static_cast<unsigned>(whom) & 1U) != 0;
    }
    void enqueue(watch::text_id job, work how) {
        if (job != watch::no_text) job_queue_({.name = job, .kind = 0}, how);
    }
    void enqueue_runtime(watch::kind of, watch::text_id runtime, work how) {
        runtime_queue_({.name = runtime, .kind = static_cast<std::uint32_t>(of)}, how);
    }
    // To be planned again.
    void enqueue_dirty(watch::text_id job);
    void enqueue_owner(watch::kind of, const watch::object_record& child);
    void enqueue_others(watch::kind of, const watch::object_record& object);
    void enqueue_all_dirty();
    void suspended_in(std::string_view ns);
    void suspended_of_class(std::string_view runtime_class);
    void runtime_changed(const watch::object_change& what);
    void wait_is_over(const watch::object_change& what);
    void jobs_of_runtime(watch::kind of, watch::text_id runtime, bool suspended_only);

    watch::cluster& all_;
    trainjob_reconciler& jobs_;
    queue job_queue_;
    queue runtime_queue_;
    std::array<std::uint8_t, watch::kinds> wakes_{};  // bits of event_source::wakes
    std::array<bool, watch::kinds> live_{};
    std::array<bool, watch::kinds> gone_{};  // the server does not know the kind
    bool leads_ = false;
    bool lost_ = false;  // an exception kept somebody from being woken
    std::string scratch_;
};

}  // namespace cotrain::reconcile
