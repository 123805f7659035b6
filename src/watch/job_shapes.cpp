#include "watch/job_shapes.hpp"

#include <algorithm>
#include <glaze/json/read.hpp>
#include <optional>
#include <span>

#include "api/names.hpp"
#include "base/json_text.hpp"
#include "watch/decode.hpp"

// Members as they are called on the wire; all others are skipped.
namespace cotrain::watch::shapes {

struct job_spec {
    std::int32_t parallelism = 1;
    std::optional<std::int32_t> completions{};
};
struct known_labels {
    std::string_view ancestor{};
};
struct template_meta {
    known_labels labels{};
};
struct job_template {
    template_meta metadata{};
    job_spec spec{};
};
struct replicated_job {
    std::string_view name{};
    std::int32_t replicas = 1;
    job_template of{};
};
struct job_set_spec {
    std::vector<replicated_job> replicatedJobs{};
};

constexpr base::strict_json<glz::opts> rules{};

}  // namespace cotrain::watch::shapes

template <>
struct glz::meta<cotrain::watch::shapes::known_labels> {
    using T = cotrain::watch::shapes::known_labels;
    static constexpr auto value = object(cotrain::api::names::ancestor_label, &T::ancestor);
};
template <>
struct glz::meta<cotrain::watch::shapes::replicated_job> {
    using T = cotrain::watch::shapes::replicated_job;
    static constexpr auto value = object("name", &T::name, "replicas", &T::replicas, "template", &T::of);
};

namespace cotrain::watch {

std::vector<api::job_shape> read_job_shapes(std::string_view spec) {
    shapes::job_set_spec read;
    if (glz::read<shapes::rules>(read, spec)) return {};
    std::vector<api::job_shape> out;
    const std::size_t count = std::min(read.replicatedJobs.size(), jobs_max);
    out.reserve(count);
    for (const shapes::replicated_job& from : std::span(read.replicatedJobs).first(count)) {
        out.push_back({.name = from.name,
                       .ancestor = from.of.metadata.labels.ancestor,
                       .replicas = from.replicas,
                       .parallelism = from.of.spec.parallelism,
                       .completions = from.of.spec.completions});
    }
    return out;
}

}  // namespace cotrain::watch
