// Answers reviews' questions: runtimes from the stores where they are there, everything else from the API server.
#pragma once

#include "kube/client.hpp"
#include "reconcile/cluster.hpp"
#include "reconcile/trainjob_runtimes.hpp"
#include "serve/webhook_endpoint.hpp"

namespace cotrain::app {

class admission_lookup final : public serve::cluster_view {
   public:
    // A review must not wait longer for one object: the API server gives it ten seconds for all of them.
    static constexpr std::chrono::milliseconds patience{3'000};

    admission_lookup(kube::client& api, reconcile::cluster& all) : api_(api), runtimes_(all) {}

    [[nodiscard]] awaitable<admission::answer> look_up(admission::question what, api::arena* memory) override;

   private:
    [[nodiscard]] admission::answer from_stores(const admission::question& what);

    kube::client& api_;
    reconcile::runtime_cache runtimes_;
};

}  // namespace cotrain::app
