// The shape of pod specs, jobs and JobSets, as far as it is walked through.
#include "api/pod_shape.hpp"

#include "api/quantity.hpp"

namespace cotrain::api {

namespace {

void check_object_list(const place& object, std::string_view key) {
    const place list = object.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) (void)list.object_item(i);
}

void check_integer(const place& object, std::string_view key) {
    std::int32_t number = 0;
    object.read(key, number);
}

void check_quantities(const place& resources, std::string_view key) {
    const place list = resources.object(key);
    for (const member& m : list.value().members()) {
        if (m.value.is_null()) continue;
        if (auto q = quantity::parse(m.value); !q) list.member(m.key()).mistake(q.error().message);
    }
}

void check_container(const place& container) {
    std::string_view text;
    container.require("name");
    container.read("name", text);
    container.read("image", text);
    check_string_list(container, "command");
    check_string_list(container, "args");
    check_env(container);
    check_object_list(container, "envFrom");
    check_object_list(container, "volumeMounts");
    check_resources(container.object("resources"));
    const place ports = container.array("ports");
    for (std::size_t i = 0; i < ports.size(); ++i) check_integer(ports.object_item(i), "containerPort");
}

void check_containers(const place& spec, std::string_view key) {
    const place list = spec.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) check_container(list.object_item(i));
}

void check_replicated_job(const place& job) {
    std::string_view name;
    job.require("name");
    job.read("name", name);
    check_integer(job, "replicas");
    const place job_template = job.object("template");
    check_labels(job_template.object("metadata"));
    const place spec = job_template.object("spec");
    check_integer(spec, "parallelism");
    check_integer(spec, "completions");
    const place pod = spec.object("template");
    check_labels(pod.object("metadata"));
    check_pod_spec(pod.object("spec"));
}

}  // namespace

void check_string_list(const place& object, std::string_view key) {
    const place list = object.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!list.item(i).value().is_string()) return list.item(i).expected("a string");
    }
}

void check_named_list(const place& object, std::string_view key) {
    const place list = object.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const place entry = list.object_item(i);
        std::string_view name;
        entry.require("name");
        entry.read("name", name);
    }
}

void check_env(const place& object) {
    check_named_list(object, "env");
    const place list = object.array("env");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const place entry = list.item(i);
        const place source = entry.object("valueFrom");
        for (const std::string_view key : {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"})
            (void)source.object(key);
    }
}

void check_labels(const place& metadata) {
    ref unused;
    metadata.read_string_map("labels", unused);
    metadata.read_string_map("annotations", unused);
}

void check_resources(const place& resources) {
    check_quantities(resources, "requests");
    check_quantities(resources, "limits");
}

void check_pod_spec(const place& spec) {
    ref unused;
    std::string_view text;
    check_containers(spec, "containers");
    check_containers(spec, "initContainers");
    check_named_list(spec, "volumes");
    check_object_list(spec, "tolerations");
    check_named_list(spec, "imagePullSecrets");
    check_named_list(spec, "schedulingGates");
    spec.read_string_map("nodeSelector", unused);
    spec.read("serviceAccountName", text);
    spec.read("priorityClassName", text);
    spec.read("runtimeClassName", text);
}

void check_job_set_template(const place& job_set) {
    std::string_view text;
    check_labels(job_set.object("metadata"));
    const place spec = job_set.object("spec");
    spec.object("network").read("subdomain", text);
    const place jobs = spec.array("replicatedJobs");
    for (std::size_t i = 0; i < jobs.size(); ++i) check_replicated_job(jobs.object_item(i));
}

}  // namespace cotrain::api
