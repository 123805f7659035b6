// Takes the finalizers off runtimes that earlier operators put there: nothing of ours holds a runtime back.
#pragma once

#include "base/log.hpp"
#include "reconcile/cluster.hpp"
#include "reconcile/controller.hpp"
#include "reconcile/remote.hpp"

namespace cotrain::reconcile {

// Keys carry the kind of runtime: watch::kind as a number.
class runtime_reconciler {
   public:
    runtime_reconciler(cluster& all, remote& api, base::logger& log) : all_(all), api_(api), log_(log) {}

    [[nodiscard]] awaitable<outcome> reconcile(key k, unsigned failures);

   private:
    [[nodiscard]] outcome refused(const base::error& e);

    cluster& all_;
    remote& api_;
    base::logger& log_;
};

}  // namespace cotrain::reconcile
