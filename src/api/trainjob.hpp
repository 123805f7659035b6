// TrainJob as both dialects write it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.hpp"
#include "api/meta.hpp"
#include "api/pod_shape.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "doc/tree.hpp"

namespace cotrain::api {

struct runtime_ref {
    std::string_view name;
    std::string_view api_group;  // defaulted
    std::string_view kind;       // defaulted
};

// spec.initializer.dataset and .model
struct initializer_source {
    std::optional<std::string_view> storage_uri;
    doc::ref env;                  // array
    std::string_view secret_name;  // of secretRef
    bool has_secret = false;
};

struct trainer_spec {
    std::optional<std::string_view> image;
    doc::ref command;             // array of strings; absent if not given
    doc::ref args;                // array of strings; absent if not given
    doc::ref env;                 // array
    doc::ref resources_per_node;  // object
    std::optional<std::int32_t> num_nodes;
    process_count num_proc_per_node;
};

// spec.runtimePatches[]
struct runtime_patch {
    std::string_view manager;
    std::string_view time;           // as stamped at admission
    doc::ref training_runtime_spec;  // object
};

// spec.podTemplateOverrides[], the earlier dialect
struct pod_template_override {
    std::vector<std::string_view> target_jobs;  // empty = every job
    doc::ref metadata;                          // object: labels, annotations
    doc::ref spec;                              // object: the part of a pod spec that may be overridden
};

struct train_job_spec {
    runtime_ref runtime;
    std::optional<initializer_source> dataset;
    std::optional<initializer_source> model;
    std::optional<trainer_spec> trainer;
    std::vector<runtime_patch> runtime_patches;
    std::vector<pod_template_override> pod_template_overrides;
    bool suspend = false;
    std::int64_t active_deadline_seconds = 0;  // 0 = none
    std::string_view managed_by;               // defaulted
    std::optional<std::int32_t> ttl_seconds_after_finished;
};

// status.jobsStatus[]
struct job_status {
    std::string name;
    std::int32_t ready = 0;
    std::int32_t succeeded = 0;
    std::int32_t failed = 0;
    std::int32_t active = 0;
    std::int32_t suspended = 0;

    [[nodiscard]] bool operator==(const job_status&) const = default;
};

// status.state; the words are to_string()'s.
enum class job_state : std::uint8_t {
    none,  // nothing was written yet
    pending,
    starting,
    running,
    restarting,
    suspending,
    suspended,
    blocked,
    complete,
    failed
};
inline constexpr std::size_t job_states = 10;
[[nodiscard]] std::string_view to_string(job_state s);  // "Pending"; of none nothing
[[nodiscard]] job_state job_state_of(std::string_view word);

// status.nodes: Pods that train.
struct node_counts {
    std::int32_t desired = 0;
    std::int32_t ready = 0;
    // Finds the Pods. Told with the counts: what is known of an earlier status has none, so that it is not compared.
    std::string selector{};

    [[nodiscard]] bool operator==(const node_counts& other) const {
        return desired == other.desired && ready == other.ready;
    }
};

// status.failures[]: how one attempt failed, as far as its Pods told. Texts are cut by bound_failure().
inline constexpr std::size_t failures_max = 5;                 // the last attempts
inline constexpr std::size_t failure_name_bytes_max = 253;     // pod, node
inline constexpr std::size_t failure_word_bytes_max = 63;      // container, reason
inline constexpr std::size_t failure_message_bytes_max = 512;  // one line
struct job_failure {
    std::int32_t attempt = 0;  // JobSet's restarts when it failed: 0 is the first attempt
    base::seconds_time time{};
    std::string pod;                   // the first that failed; the members below are about it
    std::optional<std::int32_t> rank;  // its completion index
    std::string node;
    std::string container;
    std::optional<std::int32_t> exit_code;
    std::string reason;     // "OOMKilled", "Error", "Evicted", "NodeLost", "DeadlineExceeded" …
    std::string message;    // its termination message, or the last line of it
    std::int32_t pods = 0;  // how many failed in this attempt, as far as one page of a list shows

    [[nodiscard]] bool operator==(const job_failure&) const = default;
};
void bound_failure(job_failure& failure);

// Members of status that the reference does not have, but for runtimeSnapshotHash.
inline constexpr std::array<std::string_view, 7> own_status_members{
    "state", "message", "startTime", "completionTime", "restarts", "nodes", "failures"};

struct train_job_status {
    condition_list conditions;
    std::vector<job_status> jobs;
    // own_status_members.
    job_state state = job_state::none;
    std::string message;  // one sentence: what it waits for, or why
    std::optional<base::seconds_time> start_time;
    std::optional<base::seconds_time> completion_time;
    std::optional<std::int32_t> restarts;
    std::optional<node_counts> nodes;
    std::vector<job_failure> failures;  // the oldest first

    [[nodiscard]] bool operator==(const train_job_status&) const = default;
};

// Views into the document; status owns its text.
struct train_job {
    object_meta meta;
    train_job_spec spec;
    train_job_status status;
    doc::ref trainer_status;  // status.trainerStatus: written by progress reports only
    doc::ref document;
};

[[nodiscard]] base::result<train_job> decode_train_job(doc::ref document);

[[nodiscard]] train_job_status decode_train_job_status(const doc::place& status);
[[nodiscard]] std::vector<job_failure> decode_failures(const doc::place& list);

// The merge patch that turns `from` into `to`: absent if nothing differs. Never empties the status object.
[[nodiscard]] doc::ref status_patch(doc::arena& memory, const train_job_status& from, const train_job_status& to);
[[nodiscard]] doc::ref encode_status(doc::arena& memory, const train_job_status& status);

}  // namespace cotrain::api
