// Children: named after their TrainJob, owned by it.
#include "runtime/object.hpp"

#include <string>
#include <utility>

#include "api/meta.hpp"
#include "doc/json.hpp"

namespace cotrain::runtime {

base::result<> check_memory(const doc::arena& memory) {
    if (!memory.exceeded()) return {};
    return base::fail(base::errc::too_large, "the TrainJob and its runtime need more than the " +
                                                 std::to_string(memory.bytes_max()) + " bytes that a plan may take");
}

std::string child_name(const api::train_job& job, std::string_view suffix) {
    std::string name(job.meta.name);
    name.append(suffix);
    return name;
}

doc::editor new_child(doc::arena& memory, const api::resource_type& type, std::string_view name,
                      const api::train_job& job) {
    doc::editor child =
        api::new_object(memory, doc::word::lasting(type.api_version), doc::word::lasting(type.kind), name, job.meta.ns);
    if (job.meta.uid.empty()) return child;
    child.ensure_object("metadata")
        .ensure_array("ownerReferences")
        .append(
            api::controller_reference(memory, api::names::trainer_api_version, api::names::train_job_kind, job.meta));
    return child;
}

object finish(const api::resource_type& type, std::string_view name, const doc::editor& document) {
    constexpr std::size_t usual_bytes = 2048;
    std::string json;
    json.reserve(usual_bytes);
    (void)doc::append_json(json, document.view(), object_bytes_max);  // refuse_oversized() finds what is cut
    return {&type, std::string(name), std::move(json)};
}

child_state observed::state_of(const api::resource_type& type, std::string_view name) const {
    for (const auto& child : children) {
        if (child.name == name && same_type(*child.type, type)) return child.state;
    }
    return child_state::absent;
}

}  // namespace cotrain::runtime
