// The shape of pod specs, jobs and JobSets, as far as it is walked through.
#include "api/pod_shape.hpp"

#include <charconv>

#include "api/quantity.hpp"

namespace cotrain::api {

std::string_view to_string(process_count::form form) {
    switch (form) {
        case process_count::form::automatic: return "auto";
        case process_count::form::cpu: return "cpu";
        case process_count::form::gpu: return "gpu";
        default: return {};
    }
}

process_count decode_process_count(const doc::place& object, std::string_view key) {
    process_count out;
    const doc::place from = object.member(key);
    if (!from) return out;
    if (!from.value().is_string()) {
        object.read(key, out.count);
        out.kind = process_count::form::number;
        return out;
    }
    const std::string_view text = from.value().text();
    out.written_as_text = true;
    for (const auto form : {process_count::form::automatic, process_count::form::cpu, process_count::form::gpu}) {
        if (text != to_string(form)) continue;
        out.kind = form;
        return out;
    }
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out.count);
    if (problem != std::errc() || end != text.data() + text.size()) {
        from.expected("an integer, \"auto\", \"cpu\" or \"gpu\"");
        return {};
    }
    out.kind = process_count::form::number;
    return out;
}

namespace {

void check_object_list(const doc::place& object, std::string_view key) {
    const doc::place list = object.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) (void)list.object_item(i);
}

void check_integer(const doc::place& object, std::string_view key) {
    std::int32_t number = 0;
    object.read(key, number);
}

void check_quantities(const doc::place& resources, std::string_view key) {
    const doc::place list = resources.object(key);
    for (const doc::member& m : list.value().members()) {
        if (m.value.is_null()) continue;
        if (auto q = quantity::parse(m.value); !q) list.member(m.key()).mistake(q.error().message);
    }
}

void check_container(const doc::place& container) {
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
    const doc::place ports = container.array("ports");
    for (std::size_t i = 0; i < ports.size(); ++i) check_integer(ports.object_item(i), "containerPort");
}

void check_containers(const doc::place& spec, std::string_view key) {
    const doc::place list = spec.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) check_container(list.object_item(i));
}

void check_replicated_job(const doc::place& job) {
    std::string_view name;
    job.require("name");
    job.read("name", name);
    check_integer(job, "replicas");
    const doc::place job_template = job.object("template");
    check_labels(job_template.object("metadata"));
    const doc::place spec = job_template.object("spec");
    check_integer(spec, "parallelism");
    check_integer(spec, "completions");
    const doc::place pod = spec.object("template");
    check_labels(pod.object("metadata"));
    check_pod_spec(pod.object("spec"));
}

}  // namespace

void check_string_list(const doc::place& object, std::string_view key) {
    const doc::place list = object.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!list.item(i).value().is_string()) return list.item(i).expected("a string");
    }
}

void check_named_list(const doc::place& object, std::string_view key) {
    const doc::place list = object.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const doc::place entry = list.object_item(i);
        std::string_view name;
        entry.require("name");
        entry.read("name", name);
    }
}

void check_env(const doc::place& object) {
    check_named_list(object, "env");
    const doc::place list = object.array("env");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const doc::place entry = list.item(i);
        const doc::place source = entry.object("valueFrom");
        for (const std::string_view key : {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"})
            (void)source.object(key);
    }
}

void check_labels(const doc::place& metadata) {
    doc::ref unused;
    metadata.read_string_map("labels", unused);
    metadata.read_string_map("annotations", unused);
}

void check_resources(const doc::place& resources) {
    check_quantities(resources, "requests");
    check_quantities(resources, "limits");
}

void check_pod_spec(const doc::place& spec) {
    doc::ref unused;
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

void check_job_set_template(const doc::place& job_set) {
    std::string_view text;
    check_labels(job_set.object("metadata"));
    const doc::place spec = job_set.object("spec");
    spec.object("network").read("subdomain", text);
    const doc::place jobs = spec.array("replicatedJobs");
    for (std::size_t i = 0; i < jobs.size(); ++i) check_replicated_job(jobs.object_item(i));
}

}  // namespace cotrain::api
