// What the stores know, for webhooks and for progress reports; no request is made.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "kube/pacing.hpp"
#include "reconcile/runtime_cache.hpp"
#include "serve/progress.hpp"
#include "serve/webhook_endpoint.hpp"
#include "watch/cluster.hpp"
#include "watch/informer.hpp"

namespace cotrain::app {

// Answers reviews' questions from the stores alone: nobody who sends a review makes the operator send a request.

class admission_lookup final : public serve::cluster_view {
   public:
    using compiled = reconcile::runtime_cache::compiled;
    // What the snapshot of that TrainJob ("namespace/name") says, as far as somebody has read it; null otherwise.
    using snapshot_source = std::function<compiled(watch::text_id job)>;

    // A runtime or PriorityClass that was made right before its TrainJob may come in after the review: so long a review
    // waits for one that is not known.
    static constexpr std::chrono::milliseconds patience{500};

    admission_lookup(const watch::informers& watched, watch::cluster& all, snapshot_source snapshots)
        : watched_(watched), all_(all), runtimes_(all), snapshots_(std::move(snapshots)) {}

    [[nodiscard]] awaitable<admission::answer> look_up(admission::question what, doc::arena* memory) override;
    // An object has come in: some review may wait for it.
    void came_in(watch::kind of);

   private:
    [[nodiscard]] admission::answer find(watch::kind of, const admission::question& what, doc::arena* memory);
    [[nodiscard]] admission::answer find_runtime(const admission::question& what);
    [[nodiscard]] admission::answer find_snapshot(const admission::question& what) const;
    [[nodiscard]] admission::answer find_job(const admission::question& what, doc::arena* memory) const;
    [[nodiscard]] admission::answer find_job_set(const admission::question& what, doc::arena* memory) const;

    const watch::informers& watched_;
    watch::cluster& all_;
    reconcile::runtime_cache runtimes_;
    snapshot_source snapshots_;
    kube::sleepers waiting_;
};

// What the stores have of a TrainJob whose Pods report progress.

// Nothing if there is no such TrainJob. Its JobSet counts only if this very TrainJob controls it.
[[nodiscard]] std::optional<serve::known_job> find_reported_job(const watch::cluster& all,
                                                                const serve::reported_job& job);

}  // namespace cotrain::app
