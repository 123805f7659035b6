#include "runtime/elastic.hpp"

#include "api/names.hpp"

namespace cotrain::runtime {

namespace names = api::names;

std::optional<api::elastic_policy> elastic_of(const api::train_job& job, const api::ml_policy* ml) {
    if (ml == nullptr || !ml->torch) return std::nullopt;
    const std::string_view own = job.meta.annotation(names::elastic_annotation);
    if (own.empty()) return ml->torch->elastic;
    const auto nodes = api::parse_node_range(own);
    if (!nodes) return std::nullopt;
    api::elastic_policy out = ml->torch->elastic.value_or(api::elastic_policy{});
    out.nodes = *nodes;
    return out;
}

std::string annotation_fault(const api::train_job& job, const api::ml_policy* ml) {
    const std::string_view own = job.meta.annotation(names::elastic_annotation);
    if (own.empty()) return {};
    if (!api::parse_node_range(own)) return "must be MIN:MAX, such as 2:8, with MIN at least 1 and at most MAX";
    if (ml == nullptr || !ml->torch)
        return "only jobs of a runtime with mlPolicy.torch are elastic: other frameworks fix the number of nodes when "
               "they start";
    return {};
}

std::string size_fault(const api::node_range& range, std::int64_t nodes) {
    if (range.holds(nodes)) return {};
    return std::to_string(nodes) + " is not within " + range.text() +
           ", the number of nodes that the TrainJob may have";
}

base::result<std::optional<object>> resize(const info& i, const api::train_job& job, const api::job_set& existing) {
    const pod_set* const set = i.trainer();
    if (!i.elastic || set == nullptr) return std::nullopt;
    const doc::ref there = existing.spec.get("replicatedJobs").find_by("name", set->name).get({"template", "spec"});
    if (!there || (there.get("parallelism").as_int(1) == set->count && there.get("completions").as_int() == set->count))
        return std::nullopt;
    const doc::ref variable = there.get({"template", "spec", "containers"})
                                  .find_by("name", names::node)
                                  .get("env")
                                  .find_by("name", names::env_torch_nodes);
    const std::string_view made_for = variable.get("value").as_string();
    if (made_for != i.elastic->nodes.text()) {
        return base::fail(base::errc::invalid, "JobSet " + std::string(job.meta.name) + " was made for " +
                                                   std::string(made_for) + " nodes, not for " +
                                                   i.elastic->nodes.text() +
                                                   ": suspend the TrainJob and resume it to change its size");
    }
    doc::editor out = doc::editor::object(i.memory());
    out.set("apiVersion", names::job_set.api_version).set("kind", names::job_set.kind);
    out.ensure_object("metadata").set("name", job.meta.name).set("namespace", job.meta.ns);
    out.ensure_object("spec")
        .ensure_array("replicatedJobs")
        .ensure_entry("name", set->name)
        .ensure_object({"template", "spec"})
        .set("parallelism", set->count)
        .set("completions", set->count);
    object made = finish(names::job_set, job.meta.name, out);
    made.manager = names::scale_field_manager;
    return made;
}

}  // namespace cotrain::runtime
