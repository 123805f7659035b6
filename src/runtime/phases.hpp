// The phases a plugin may take part in. A plugin is a plain type that has the functions of its phases and no others;
// these concepts find them. All functions are const: a plugin keeps configuration, never state of a job.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "api/names.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "runtime/info.hpp"
#include "runtime/object.hpp"
#include "runtime/observed.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::runtime {

// A kind whose changes concern TrainJobs, and which TrainJobs a change wakes.
struct event_source {
    enum class wakes : std::uint8_t {
        owner,                      // the TrainJob that controls the object
        suspended_in_namespace,     // suspended TrainJobs of the object's namespace
        suspended_of_runtime_class  // suspended TrainJobs whose runtime uses the RuntimeClass
    };
    const api::resource_type* type = nullptr;
    wakes whom = wakes::owner;
};

template <class P>
concept plugin = std::copyable<P> && requires {
    { P::name } -> std::convertible_to<std::string_view>;
};

// Numbers of pods, environment, volumes: what the ML framework of the runtime needs.
template <class P>
concept enforces_ml_policy = requires(const P& p, info& i, const api::train_job& job) {
    { p.enforce_ml_policy(i, job) } -> std::same_as<base::result<>>;
};

// What the gang scheduler wants on pods.
template <class P>
concept enforces_pod_group_policy = requires(const P& p, info& i, const api::train_job& job) {
    { p.enforce_pod_group_policy(i, job) } -> std::same_as<base::result<>>;
};

// Endpoints of the pod sets, whose counts are final now.
template <class P>
concept identifies_pod_network = requires(const P& p, info& i, const api::train_job& job) {
    { p.identify_pod_network(i, job) } -> std::same_as<base::result<>>;
};

// Counts of pod sets back into the template.
template <class P>
concept syncs_parallelism = requires(const P& p, info& i) {
    { p.sync_parallelism(i) } -> std::same_as<base::result<>>;
};

// The JobSet of the plan.
template <class P>
concept builds_job_set =
    requires(const P& p, info& i, const api::train_job& job, const observed& seen, object_list& out) {
        { p.build_job_set(i, job, seen, out) } -> std::same_as<base::result<>>;
    };

// All else, in the order in which it is to be applied. The info is about the pods of the JobSet that is there, if one
// is (contract, difference 32).
template <class P>
concept builds_objects =
    requires(const P& p, info& i, const api::train_job& job, const observed& seen, object_list& out) {
        { p.build(i, job, seen, out) } -> std::same_as<base::result<>>;
    };

// Rules for TrainJobs at admission. The info is the patched runtime before any other phase.
template <class P>
concept validates_jobs = requires(const P& p, info& i, const review& r, verdict& out) {
    { p.validate(i, r, out) } -> std::same_as<void>;
};

// Progress and outcome of the job from what its children say.
template <class P>
concept reports_status =
    requires(const P& p, api::train_job_status& status, const api::job_set& children, api::seconds_time now) {
        { p.report_status(status, children, now) } -> std::same_as<void>;
    };

template <class P>
concept has_event_sources = requires {
    { P::event_sources } -> std::convertible_to<std::span<const event_source>>;
};

// A type that is in no phase is most likely misspelt.
template <class P>
concept takes_part =
    enforces_ml_policy<P> || enforces_pod_group_policy<P> || identifies_pod_network<P> || syncs_parallelism<P> ||
    builds_objects<P> || builds_job_set<P> || validates_jobs<P> || reports_status<P>;

}  // namespace cotrain::runtime
