// Words for describing types: what train_job.cpp and runtime.cpp are written in.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "crd/node.hpp"

namespace cotrain::crd {

enum class presence : bool { optional, required };
inline constexpr presence mandatory = presence::required;

// Each word returns the type, changed; types are values, and a type made from another leaves that one alone.
class type_builder {
   public:
    type_builder(value_type type, value_format format = value_format::none);
    explicit type_builder(node existing) : node_(std::move(existing)) {}

    [[nodiscard]] type_builder size(std::optional<std::int64_t> min, std::optional<std::int64_t> max = {}) const;
    [[nodiscard]] type_builder at_least(std::int64_t min) const;
    [[nodiscard]] type_builder between(std::int64_t min, std::int64_t max) const;
    [[nodiscard]] type_builder one_of(std::initializer_list<std::string_view> texts) const;
    [[nodiscard]] type_builder pattern(std::string_view regex) const;
    [[nodiscard]] type_builder fallback(std::string_view json) const;
    [[nodiscard]] type_builder rule(std::string_view cel, std::string_view message) const;
    [[nodiscard]] type_builder immutable() const;
    [[nodiscard]] type_builder atomic() const;
    [[nodiscard]] type_builder unique() const;
    [[nodiscard]] type_builder keyed_by(std::string_view member) const;
    [[nodiscard]] type_builder described(std::string_view text) const;

    [[nodiscard]] const node& get() const { return node_; }

   private:
    node node_;
};

struct field {
    std::string_view name;
    type_builder type;
    std::string_view description;
    presence need = presence::optional;
};

[[nodiscard]] type_builder object(std::span<const field> fields);
[[nodiscard]] type_builder object(std::initializer_list<field> fields = {});
[[nodiscard]] type_builder list(const type_builder& item);
// Members with names of the user's choice.
[[nodiscard]] type_builder map_of(const type_builder& value);
[[nodiscard]] type_builder text();
[[nodiscard]] type_builder time();
[[nodiscard]] type_builder flag();
[[nodiscard]] type_builder int32();
[[nodiscard]] type_builder int64();
[[nodiscard]] type_builder integer();
// auto, cpu, gpu or a number, the number also as a text.
[[nodiscard]] type_builder process_count();
// A type that is Kubernetes' or JobSet's: by its name in kubernetes.json.inc. Throws std::logic_error if there is none.
[[nodiscard]] type_builder foreign(std::string_view name);

// --- the types of trainer.kubeflow.org/v1alpha1, in types.cpp --------------------------------------------------------

[[nodiscard]] type_builder train_job_spec();
[[nodiscard]] type_builder train_job_status();
[[nodiscard]] type_builder runtime_spec();
// spec.runtimePatches and its forerunner, spec.podTemplateOverrides.
[[nodiscard]] type_builder runtime_patches();
[[nodiscard]] type_builder pod_template_overrides();

}  // namespace cotrain::crd
