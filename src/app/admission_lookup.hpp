// Answers reviews' questions from the stores alone: nobody who sends a review makes the operator send a request.
#pragma once

#include <chrono>
#include <functional>

#include "kube/sleepers.hpp"
#include "reconcile/cluster.hpp"
#include "reconcile/trainjob_runtimes.hpp"
#include "serve/webhook_endpoint.hpp"
#include "watch/informers.hpp"

namespace cotrain::app {

class admission_lookup final : public serve::cluster_view {
   public:
    using compiled = reconcile::runtime_cache::compiled;
    // What the snapshot of that TrainJob ("namespace/name") says, as far as somebody has read it; null otherwise.
    using snapshot_source = std::function<compiled(watch::text_id job)>;

    // A runtime or PriorityClass that was made right before its TrainJob may come in after the review: so long a review
    // waits for one that is not known.
    static constexpr std::chrono::milliseconds patience{500};

    admission_lookup(const watch::informers& watched, reconcile::cluster& all, snapshot_source snapshots)
        : watched_(watched), all_(all), runtimes_(all), snapshots_(std::move(snapshots)) {}

    [[nodiscard]] awaitable<admission::answer> look_up(admission::question what, api::arena* memory) override;
    // An object has come in: some review may wait for it.
    void came_in(watch::kind of);

   private:
    [[nodiscard]] admission::answer find(watch::kind of, const admission::question& what, api::arena* memory);
    [[nodiscard]] admission::answer find_runtime(const admission::question& what);
    [[nodiscard]] admission::answer find_snapshot(const admission::question& what) const;
    [[nodiscard]] admission::answer find_job_set(const admission::question& what, api::arena* memory) const;

    const watch::informers& watched_;
    reconcile::cluster& all_;
    reconcile::runtime_cache runtimes_;
    snapshot_source snapshots_;
    kube::sleepers waiting_;
};

}  // namespace cotrain::app
