// Children: named after their TrainJob, owned by it.
#include "runtime/object.hpp"

#include <utility>

#include "api/json.hpp"
#include "api/meta.hpp"
#include "runtime/bounds.hpp"

namespace cotrain::runtime {

std::string child_name(const api::train_job& job, std::string_view suffix) {
    std::string name(job.meta.name);
    name.append(suffix);
    return name;
}

api::editor new_child(api::arena& memory, const api::resource_type& type, std::string_view name,
                      const api::train_job& job) {
    api::editor child =
        api::new_object(memory, api::word::lasting(type.api_version), api::word::lasting(type.kind), name, job.meta.ns);
    if (job.meta.uid.empty()) return child;
    child.ensure_object("metadata")
        .ensure_array("ownerReferences")
        .append(
            api::controller_reference(memory, api::names::trainer_api_version, api::names::train_job_kind, job.meta));
    return child;
}

object finish(const api::resource_type& type, std::string_view name, const api::editor& document) {
    constexpr std::size_t usual_bytes = 2048;
    std::string json;
    json.reserve(usual_bytes);
    (void)api::append_json(json, document.view(), object_bytes_max);  // refuse_oversized() finds what is cut
    return {&type, std::string(name), std::move(json)};
}

}  // namespace cotrain::runtime
