// The types of trainer.kubeflow.org/v1alpha1: the one place that says what its fields are and which rules they obey.
#pragma once

#include "api/schema/build.hpp"

namespace cotrain::api::schema {

// Bounds of the API.
inline constexpr std::int64_t dns_subdomain_characters_max = 253;
inline constexpr std::int64_t container_name_characters_max = 63;
inline constexpr std::int64_t image_characters_max = 500;
inline constexpr std::int64_t argument_characters_max = 1048576;
inline constexpr std::int64_t uri_characters_max = 2048;
inline constexpr std::int64_t path_characters_max = 4096;
inline constexpr std::int64_t metric_characters_max = 64;
inline constexpr std::int64_t common_list_items_max = 128;  // env, arguments, volumes, mounts, tolerations
inline constexpr std::int64_t containers_max = 64;
inline constexpr std::int64_t pull_secrets_max = 64;
inline constexpr std::int64_t scheduling_gates_max = 16;
inline constexpr std::int64_t runtime_patches_max = 16;
inline constexpr std::int64_t replicated_jobs_max = 100;
inline constexpr std::int64_t conditions_max = 8;
inline constexpr std::int64_t condition_type_characters_max = 316;
inline constexpr std::int64_t condition_reason_characters_max = 1024;
inline constexpr std::int64_t condition_message_characters_max = 32768;
inline constexpr std::int64_t metrics_max = 256;
inline constexpr std::int64_t env_targets_max = 16;
inline constexpr std::int64_t env_target_containers_max = 8;

[[nodiscard]] type_builder train_job_spec();
[[nodiscard]] type_builder train_job_status();
[[nodiscard]] type_builder runtime_spec();
// spec.runtimePatches and its forerunner, spec.podTemplateOverrides.
[[nodiscard]] type_builder runtime_patches();
[[nodiscard]] type_builder pod_template_overrides();

// Lists that several types have.
[[nodiscard]] type_builder env_list();
[[nodiscard]] type_builder named(std::string_view foreign_item, std::int64_t items_max);
// Of an object that is made from a template.
[[nodiscard]] type_builder template_metadata();

}  // namespace cotrain::api::schema
