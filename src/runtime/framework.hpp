// Runs the phases over plugins in the order in which they are listed, sorted into phases at compile time.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/bounds.hpp"
#include "runtime/guards.hpp"
#include "runtime/info.hpp"
#include "runtime/phases.hpp"
#include "runtime/snapshot.hpp"
#include "runtime/status.hpp"

namespace cotrain::runtime {

// The interface of the seeds: RuntimeInfo, NewObjects, TrainJobStatus, ValidateObjects, event sources.
template <plugin... Plugins>
    requires(takes_part<Plugins> && ...) && ((0 + ... + (reports_status<Plugins> ? 1 : 0)) <= 1)
class framework {
   public:
    framework() = default;
    explicit framework(Plugins... plugins) : plugins_(std::move(plugins)...) {}

    template <plugin P>
    [[nodiscard]] P& get() {
        return std::get<P>(plugins_);
    }

    // Everything up to the network: what the job will look like.
    [[nodiscard]] base::result<info> runtime_info(api::arena& memory, const api::train_job& job,
                                                  const compiled_runtime& runtime) const {
        auto made = info::make(memory, runtime, job);
        if (!made) return made;
        base::result<> ok = check_names(*made, job.meta.name);
        each([&]<class P>(const P& p) {
            if constexpr (enforces_ml_policy<P>) run<P>(ok, [&] { return p.enforce_ml_policy(*made, job); });
        });
        if (ok) ok = check_pods(*made);
        each([&]<class P>(const P& p) {
            if constexpr (enforces_pod_group_policy<P>) {
                run<P>(ok, [&] { return p.enforce_pod_group_policy(*made, job); });
            }
        });
        each([&]<class P>(const P& p) {
            if constexpr (identifies_pod_network<P>) run<P>(ok, [&] { return p.identify_pod_network(*made, job); });
        });
        if (ok) ok = check_memory(memory);
        if (!ok) return base::fail(std::move(ok.error()));
        return made;
    }

    // All objects to apply now, in order; the snapshot first unless it exists. Nothing is to be applied on an error.
    [[nodiscard]] base::result<object_list> new_objects(api::arena& memory, const api::train_job& job,
                                                        const compiled_runtime& runtime, const observed& seen) const {
        auto made = runtime_info(memory, job, runtime);
        if (!made) return base::fail(std::move(made.error()));
        object_list out;
        if (auto begun = begin_objects(memory, job, runtime, seen, out); !begun) return base::fail(begun.error());
        base::result<> ok;
        each([&]<class P>(const P& p) {
            if constexpr (syncs_parallelism<P>) run<P>(ok, [&] { return p.sync_parallelism(*made); });
        });
        std::optional<info> there;
        if (const api::job_set* const set = seen.job_set; set != nullptr && set->meta.controlled_by(job.meta.uid)) {
            if (set->spec.is_object()) there = made->with_pods_of(set->spec);
        }
        if (there) {
            each([&]<class P>(const P& p) {
                if constexpr (identifies_pod_network<P>)
                    run<P>(ok, [&] { return p.identify_pod_network(*there, job); });
            });
        }
        each([&]<class P>(const P& p) {
            if constexpr (builds_objects<P>)
                run<P>(ok, [&] { return p.build(there ? *there : *made, job, seen, out); });
            if constexpr (builds_job_set<P>) run<P>(ok, [&] { return p.build_job_set(*made, job, seen, out); });
        });
        if (ok) ok = check_memory(memory);
        if (ok) ok = refuse_oversized(out);
        if (ok) ok = refuse_foreign(out, seen);
        if (!ok) return base::fail(std::move(ok.error()));
        return out;
    }

    // Verdict on a TrainJob whose runtime was found.
    [[nodiscard]] verdict validate_objects(api::arena& memory, const review& r, const compiled_runtime& runtime) const {
        verdict out;
        auto made = info::make(memory, runtime, r.job);
        if (!made) {
            out.add({fault::invalid, "spec", "{}", made.error().message});
            return out;
        }
        each([&]<class P>(const P& p) {
            if constexpr (validates_jobs<P>) p.validate(*made, r, out);
        });
        return out;
    }

    // The next status and what else is to be done.
    [[nodiscard]] status_outcome trainjob_status(const status_input& in) const {
        return next_status(in, [&](api::train_job_status& status, const api::job_set& children) {
            each([&]<class P>(const P& p) {
                if constexpr (reports_status<P>) p.report_status(status, children, to_seconds(in.now));
            });
        });
    }

    [[nodiscard]] static std::vector<event_source> event_sources() {
        std::vector<event_source> all;
        (add_sources<Plugins>(all), ...);
        return all;
    }

   private:
    template <class F>
    void each(const F& f) const {
        std::apply([&](const auto&... p) { (f(p), ...); }, plugins_);
    }

    // The first failure ends a phase; it says which plugin it came from.
    template <class P, class F>
    static void run(base::result<>& ok, const F& step) {
        if (!ok) return;
        ok = step();
        if (!ok) ok = base::fail(std::move(ok.error()).during(P::name));
    }

    template <class P>
    static void add_sources(std::vector<event_source>& all) {
        if constexpr (has_event_sources<P>) {
            for (const event_source& source : P::event_sources) add_source(all, source);
        }
    }

    std::tuple<Plugins...> plugins_;
};

}  // namespace cotrain::runtime
