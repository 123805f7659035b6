// What a plugin may declare, and the phases it may take part in. A plugin is a plain type with a name, these constants
// and the functions of its phases; the concepts below find them. All functions of phases are const: a plugin keeps
// configuration, never state of a job.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/names.hpp"
#include "api/runtime.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "runtime/info.hpp"
#include "runtime/object.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::runtime {

// An object that a plugin makes for TrainJobs, called like the job with a suffix of its own. The operator watches it,
// makes it again when others change or delete it, and the API server deletes it with the job, which owns it.
struct child {
    const api::resource_type* type = nullptr;
    std::string_view suffix{};
    // Whether all jobs of that runtime have it; null: the plan alone tells.
    bool (*needed_by)(const compiled_runtime& runtime) = nullptr;
    // Made once and left alone from then on, as keys are.
    bool immutable = false;
    // Whether one that nobody controls is used as it is; null: never. `object`: the whole of it where it is a Secret.
    bool (*premade)(doc::ref object) = nullptr;
    // Deleted when its TrainJob ends: it would hold a place in a queue. Where that is forbidden it stays.
    bool deleted_at_end = false;
    // The kind in an older version of its API, which an API server may have instead.
    const api::resource_type* older = nullptr;
    // The API server keeps it as it was made: where its plan is another it is deleted and made again, while the job is
    // suspended.
    bool remade = false;

    [[nodiscard]] bool operator==(const child&) const = default;
};

// A kind whose changes concern TrainJobs, and which TrainJobs a change wakes. Children wake their owner anyway.
struct event_source {
    enum class wakes : std::uint8_t {
        owner,                      // the TrainJob that controls the object
        suspended_in_namespace,     // suspended TrainJobs of the object's namespace
        suspended_of_runtime_class  // suspended TrainJobs whose runtime uses the RuntimeClass
    };
    const api::resource_type* type = nullptr;
    wakes whom = wakes::owner;

    [[nodiscard]] bool operator==(const event_source&) const = default;
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

// The JobSet of the plan, and what has to be about its pods, those that are planned.
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

// Rules for TrainingRuntimes and ClusterTrainingRuntimes at admission.
template <class P>
concept validates_runtimes = requires(const P& p, const api::training_runtime& runtime, verdict& out) {
    { p.validate_runtime(runtime, out) } -> std::same_as<void>;
};

// Progress and outcome of the job from what its children say.
template <class P>
concept reports_status =
    requires(const P& p, api::train_job_status& status, const api::job_set& children, base::seconds_time now) {
        { p.report_status(status, children, now) } -> std::same_as<void>;
    };

// What the operator needs on a kind beyond what follows from children (create and patch them; list and watch, unless
// they are Secrets) and event sources (list and watch).
struct permission {
    const api::resource_type* type = nullptr;
    std::string_view verbs;      // separated by spaces
    std::string_view without{};  // what does not work when they are missing; empty: nothing works

    [[nodiscard]] bool operator==(const permission&) const = default;
};

template <class P>
concept has_children = requires {
    { P::children } -> std::convertible_to<std::span<const child>>;
};

template <class P>
concept has_event_sources = requires {
    { P::event_sources } -> std::convertible_to<std::span<const event_source>>;
};

template <class P>
concept has_permissions = requires {
    { P::permissions } -> std::convertible_to<std::span<const permission>>;
};

// Plugins that only some runtimes ask for; these can be switched off.
template <class P>
concept optional_plugin = requires(const compiled_runtime& runtime) {
    { P::needed_by(runtime) } -> std::same_as<bool>;
};

// Plugins that are there only with a feature gate, and the member of a runtime's spec that asks for them. Without the
// gate nothing that they declare is there, and such runtimes are refused.
template <class P>
concept gated_plugin = optional_plugin<P> && requires {
    { P::gate } -> std::convertible_to<std::string_view>;
    { P::field } -> std::convertible_to<std::string_view>;
};

// What the operator's configuration tells plugins.
struct plugin_options {
    std::string status_url{};             // where pods report their progress; empty: they do not
    std::vector<std::string> disabled{};  // names of plugins
    bool elastic = false;                 // gate ElasticTrainJob
    std::vector<std::string> gates{};     // feature gates that are open
};

template <class P>
concept takes_options = requires(P& p, const plugin_options& options) {
    { p.configure(options) } -> std::same_as<void>;
};

// Names of PriorityClasses that reviews must know before validate().
template <class P>
concept asks_priority_classes = requires(const P& p, const info& i) {
    { p.priority_classes(i) } -> std::same_as<std::vector<std::string>>;
};

// A type that is in no phase is most likely misspelt.
template <class P>
concept takes_part =
    enforces_ml_policy<P> || enforces_pod_group_policy<P> || identifies_pod_network<P> || syncs_parallelism<P> ||
    builds_objects<P> || builds_job_set<P> || validates_jobs<P> || reports_status<P>;

}  // namespace cotrain::runtime
