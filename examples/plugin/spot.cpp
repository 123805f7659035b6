// What "spot.example.com/allowed" does to a TrainJob.
#include "spot.hpp"

#include <string>

namespace example {
namespace {

using namespace cotrain;

constexpr std::string_view volume = "spot";
constexpr std::string_view mount_path = "/etc/spot";

bool allowed(const api::train_job& job) { return job.meta.annotation(spot::annotation) == "true"; }

std::string map_name(const api::train_job& job) { return runtime::child_name(job, "-spot"); }

}  // namespace

base::result<> spot::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    const runtime::pod_set* const trainer = i.trainer();
    if (!allowed(job) || trainer == nullptr) return {};
    api::editor pods = i.pod_spec(*trainer);
    pods.ensure_array("tolerations").append_object().set("key", "spot.example.com/machine").set("operator", "Exists");
    runtime::put_volume(pods, volume, "configMap").set("name", map_name(job));
    if (runtime::container c = i.trainer_container()) {
        c.put_mount(volume, mount_path, true);
        c.put_env_default("CHECKPOINT_EVERY", "5m");  // the runtime's own value wins
    }
    return {};
}

base::result<> spot::build(const runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                           runtime::object_list& out) const {
    const std::string name = map_name(job);
    const auto& type = api::names::config_map;
    if (!allowed(job) || seen.state_of(type, name) == runtime::child_state::ours) return {};
    api::editor map = runtime::new_child(i.memory(), type, name, job);
    map.ensure_object("data").set("nodes", std::to_string(i.trainer() == nullptr ? 0 : i.trainer()->pods()));
    out.push_back(runtime::finish(type, name, map));
    return {};
}

void spot::validate(const runtime::info&, const runtime::review& r, runtime::verdict& out) const {
    const std::string_view value = r.job.meta.annotation(annotation);
    if (value.empty() || value == "true" || value == "false") return;
    out.invalid("metadata.annotations[" + std::string(annotation) + "]", value, "must be \"true\" or \"false\"");
}

}  // namespace example
