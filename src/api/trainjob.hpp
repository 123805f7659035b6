// TrainJob as both dialects write it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.hpp"
#include "api/meta.hpp"
#include "api/process_count.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"

namespace cotrain::api {

struct runtime_ref {
    std::string_view name;
    std::string_view api_group;  // defaulted
    std::string_view kind;       // defaulted
};

// spec.initializer.dataset and .model
struct initializer_source {
    std::optional<std::string_view> storage_uri;
    ref env;                       // array
    std::string_view secret_name;  // of secretRef
    bool has_secret = false;
};

struct trainer_spec {
    std::optional<std::string_view> image;
    ref command;             // array of strings; absent if not given
    ref args;                // array of strings; absent if not given
    ref env;                 // array
    ref resources_per_node;  // object
    std::optional<std::int32_t> num_nodes;
    process_count num_proc_per_node;
};

// spec.runtimePatches[]
struct runtime_patch {
    std::string_view manager;
    std::string_view time;      // as stamped at admission
    ref training_runtime_spec;  // object
};

// spec.podTemplateOverrides[], the earlier dialect
struct pod_template_override {
    std::vector<std::string_view> target_jobs;  // empty = every job
    ref metadata;                               // object: labels, annotations
    ref spec;                                   // object: the part of a pod spec that may be overridden
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

struct train_job_status {
    condition_list conditions;
    std::vector<job_status> jobs;

    [[nodiscard]] bool operator==(const train_job_status&) const = default;
};

// Views into the document; status owns its text.
struct train_job {
    object_meta meta;
    train_job_spec spec;
    train_job_status status;
    ref trainer_status;  // status.trainerStatus: written by progress reports only
    ref document;
};

[[nodiscard]] base::result<train_job> decode_train_job(ref document);

// The merge patch that turns `from` into `to`: absent if nothing differs. Never empties the status object.
[[nodiscard]] ref status_patch(arena& memory, const train_job_status& from, const train_job_status& to);
[[nodiscard]] ref encode_status(arena& memory, const train_job_status& status);

}  // namespace cotrain::api
