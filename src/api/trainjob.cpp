// Reads TrainJobs.
#include "api/trainjob.hpp"

#include "api/names.hpp"
#include "api/pod_shape.hpp"

namespace cotrain::api {

namespace {

initializer_source decode_source(const doc::place& from) {
    initializer_source out;
    from.read("storageUri", out.storage_uri);
    check_env(from);
    from.read_array("env", out.env);
    if (const doc::place secret = from.object("secretRef")) {
        out.has_secret = true;
        secret.read("name", out.secret_name);
    }
    return out;
}

trainer_spec decode_trainer(const doc::place& from) {
    trainer_spec out;
    from.read("image", out.image);
    check_string_list(from, "command");
    check_string_list(from, "args");
    check_env(from);
    check_resources(from.object("resourcesPerNode"));
    from.read_array("command", out.command);
    from.read_array("args", out.args);
    from.read_array("env", out.env);
    from.read_object("resourcesPerNode", out.resources_per_node);
    from.read("numNodes", out.num_nodes);
    out.num_proc_per_node = decode_process_count(from, "numProcPerNode");
    return out;
}

void decode_patches(const doc::place& spec, std::vector<runtime_patch>& out) {
    const doc::place list = spec.array("runtimePatches");
    out.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const doc::place from = list.object_item(i);
        runtime_patch& patch = out.emplace_back();
        from.read("manager", patch.manager);
        from.read("time", patch.time);
        from.read_object("trainingRuntimeSpec", patch.training_runtime_spec);
        check_job_set_template(from.object("trainingRuntimeSpec").object("template"));
    }
}

void decode_overrides(const doc::place& spec, std::vector<pod_template_override>& out) {
    const doc::place list = spec.array("podTemplateOverrides");
    out.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const doc::place from = list.object_item(i);
        pod_template_override& patch = out.emplace_back();
        const doc::place targets = from.array("targetJobs");
        for (std::size_t j = 0; j < targets.size(); ++j) {
            const doc::place target = targets.object_item(j);
            target.require("name");
            target.read("name", patch.target_jobs.emplace_back());
        }
        from.read_object("metadata", patch.metadata);
        from.read_object("spec", patch.spec);
        check_labels(from.object("metadata"));
        check_pod_spec(from.object("spec"));
    }
}

train_job_spec decode_spec(const doc::place& from) {
    train_job_spec out;
    const doc::place runtime = from.object("runtimeRef");
    out.runtime.api_group = names::trainer_group;
    out.runtime.kind = names::cluster_training_runtime_kind;
    runtime.read("name", out.runtime.name);
    runtime.read("apiGroup", out.runtime.api_group);
    runtime.read("kind", out.runtime.kind);
    if (const doc::place initializer = from.object("initializer")) {
        if (const doc::place dataset = initializer.object("dataset")) out.dataset = decode_source(dataset);
        if (const doc::place model = initializer.object("model")) out.model = decode_source(model);
    }
    if (const doc::place trainer = from.object("trainer")) out.trainer = decode_trainer(trainer);
    decode_patches(from, out.runtime_patches);
    decode_overrides(from, out.pod_template_overrides);
    from.read("suspend", out.suspend);
    from.read("activeDeadlineSeconds", out.active_deadline_seconds);
    out.managed_by = names::managed_by_self;
    from.read("managedBy", out.managed_by);
    from.read("ttlSecondsAfterFinished", out.ttl_seconds_after_finished);
    return out;
}

// What the defaulting webhook took out of numProcPerNode, because typed clients expect an integer there.
void restore_process_count(train_job& job) {
    const std::string_view word = job.meta.annotation(names::num_proc_annotation);
    if (word.empty() || (job.spec.trainer && job.spec.trainer->num_proc_per_node.is_set())) return;
    for (const auto form : {process_count::form::cpu, process_count::form::gpu}) {
        if (word != to_string(form)) continue;
        if (!job.spec.trainer) job.spec.trainer.emplace();
        job.spec.trainer->num_proc_per_node = {.kind = form, .count = 0, .written_as_text = true};
    }
}

}  // namespace

base::result<train_job> decode_train_job(doc::ref document) {
    doc::decoding outcome("TrainJob");
    const doc::place root(outcome, document);
    train_job job;
    job.document = document;
    if (!document.is_object()) root.expected("an object");
    job.meta = decode_meta(root);
    job.spec = decode_spec(root.object("spec"));
    const doc::place status = root.object("status");
    job.status = decode_train_job_status(status);
    status.read_object("trainerStatus", job.trainer_status);
    if (!outcome.ok()) return outcome.fail();
    restore_process_count(job);
    return job;
}

}  // namespace cotrain::api
