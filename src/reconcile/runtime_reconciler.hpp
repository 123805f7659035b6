// Takes the finalizers off runtimes that earlier operators put there: nothing of ours holds a runtime back.
#pragma once

#include "base/log.hpp"
#include "reconcile/controller.hpp"
#include "reconcile/remote.hpp"
#include "watch/cluster.hpp"

namespace cotrain::reconcile {

// Keys carry the kind of runtime: watch::kind as a number.
class runtime_reconciler {
   public:
    runtime_reconciler(watch::cluster& all, remote& api, base::logger& log) : all_(all), api_(api), log_(log) {}

    [[nodiscard]] awaitable<outcome> reconcile(key k, attempt now);

   private:
    [[nodiscard]] outcome refused(const target& runtime, attempt now, const base::error& e);

    watch::cluster& all_;
    remote& api_;
    base::logger& log_;
};

}  // namespace cotrain::reconcile
