// A plan from two YAML texts, for tests to look at.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "api/trainjob.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "plugins/builtin.hpp"
#include "plugins/keys.hpp"
#include "runtime/normalise.hpp"

namespace cotrain::plugins {

// The spec of a JobSet with one job "node" that trains.
inline constexpr std::string_view one_node_job = R"(
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)";

// A TrainingRuntime whose spec starts with `policies` ("mlPolicy: {…}", two spaces deep) and goes on with a template.
inline std::string runtime_text(std::string_view policies, std::string_view job_set_spec = one_node_job) {
    std::string text =
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: rt, namespace: "
        "ns}\nspec:\n";
    return text.append("  ").append(policies).append("\n  template:\n    spec:").append(job_set_spec);
}

// A TrainJob "job" in "ns"; `spec` is flow style: "trainer: {numNodes: 2}".
inline std::string job_text(std::string_view spec = {}) {
    std::string text =
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job, namespace: ns, uid: u-1, "
        "creationTimestamp: '2026-01-01T00:00:00Z'}\nspec: {runtimeRef: {name: rt, kind: TrainingRuntime}";
    return text.append(spec.empty() ? "" : ", ").append(spec).append("}\n");
}

class plan {
   public:
    plan(std::string_view runtime_yaml, std::string_view job_yaml) {
        runtime_ = load(runtime_yaml);
        job_document_ = load(job_yaml);
        auto compiled = runtime::compiled_runtime::compile(runtime_);
        if (!compiled) throw std::runtime_error(compiled.error().message);
        compiled_ = *compiled;
        auto decoded = api::decode_train_job(job_document_);
        if (!decoded) throw std::runtime_error(decoded.error().message);
        job = *decoded;
        seen.make_ssh_key = [] { return make_ssh_key(system_bytes()); };
        seen.make_curve_key = [] { return make_curve_key(system_bytes()); };
    }

    base::result<runtime::object_list> make() { return framework.new_objects(memory, job, *compiled_, seen); }

    // The object of that kind, made by a plan that must succeed.
    doc::ref object(std::string_view kind, std::string_view name = "job") {
        const auto objects = make();
        if (!objects) {
            ADD_FAILURE() << objects.error().message;
            return {};
        }
        for (const auto& o : *objects) {
            if (o.type->kind == kind && o.name == name) return doc::parse_json_copy(memory, o.json).value();
        }
        return {};
    }
    doc::ref pod_spec(std::string_view job_name = "node") {
        return object("JobSet")
            .get({"spec", "replicatedJobs"})
            .find_by("name", job_name)
            .get({"template", "spec", "template", "spec"});
    }
    doc::ref container(std::string_view job_name = "node", std::string_view name = "node") {
        return pod_spec(job_name).get("containers").find_by("name", name);
    }
    // The value of a variable, or "" where there is none.
    std::string env(std::string_view variable, std::string_view job_name = "node", std::string_view name = "node") {
        return std::string(container(job_name, name).get("env").find_by("name", variable).get("value").as_string());
    }
    std::string error() {
        const auto objects = make();
        return objects ? "" : objects.error().message;
    }
    runtime::verdict review(const api::train_job* before = nullptr) {
        return framework.validate_objects(memory, {.job = job, .before = before}, *compiled_);
    }
    [[nodiscard]] const runtime::compiled_runtime& compiled() const { return *compiled_; }
    doc::ref load(std::string_view yaml) {
        const auto parsed = doc::parse_yaml(memory, memory.copy(yaml));
        if (!parsed) throw std::runtime_error(parsed.error().message);
        return doc::freeze(memory, runtime::with_defaults(memory, *parsed));
    }

    doc::arena memory;
    builtin framework;
    api::train_job job;
    runtime::observed seen;

   private:
    doc::ref runtime_;
    doc::ref job_document_;
    std::shared_ptr<const runtime::compiled_runtime> compiled_;
};

}  // namespace cotrain::plugins
