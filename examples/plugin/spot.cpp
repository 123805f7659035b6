// What SPOT_ALLOWED=true does to a TrainJob.
#include "spot.hpp"

#include <string>

namespace example {
namespace {

using namespace cotrain;

constexpr std::string_view volume = "spot";
constexpr std::string_view mount_path = "/etc/spot";

// The operator keeps a job's spec, and of annotations only its own.
std::string_view value_of(const api::train_job& job) {
    if (!job.spec.trainer) return {};
    return job.spec.trainer->env.find_by("name", spot::variable).get("value").as_string();
}

bool allowed(const api::train_job& job) { return value_of(job) == "true"; }

std::string map_name(const api::train_job& job) { return runtime::child_name(job, spot::notes.suffix); }

}  // namespace

base::result<> spot::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    const runtime::pod_set* const trainer = i.trainer();
    if (!allowed(job) || trainer == nullptr) return {};
    doc::editor pods = i.pod_spec(*trainer);
    pods.ensure_array("tolerations").append_object().set("key", "spot.example.com/machine").set("operator", "Exists");
    runtime::put_volume(pods, volume, "configMap").set("name", map_name(job));
    if (runtime::container c = i.trainer_container()) {
        c.put_mount(volume, mount_path, true);
        c.put_env_default("CHECKPOINT_EVERY", "5m");  // the runtime's own value wins
    }
    return {};
}

base::result<> spot::build(const runtime::info& i, const api::train_job& job, const runtime::observed&,
                           runtime::object_list& out) const {
    const std::string called = map_name(job);
    if (!allowed(job)) return {};
    doc::editor map = runtime::new_child(i.memory(), *notes.type, called, job);
    map.ensure_object("data").set("nodes", std::to_string(i.trainer() == nullptr ? 0 : i.trainer()->pods()));
    out.push_back(runtime::finish(*notes.type, called, map));
    return {};
}

void spot::validate(const runtime::info&, const runtime::review& r, runtime::verdict& out) const {
    const std::string_view value = value_of(r.job);
    if (value.empty() || value == "true" || value == "false") return;
    out.invalid("spec.trainer.env", value, std::string(variable) + " must be \"true\" or \"false\"");
}

}  // namespace example
