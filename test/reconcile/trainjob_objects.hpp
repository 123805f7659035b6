// Objects of the reconciler tests: what they are called, and how merge patches change them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "reconcile/remote.hpp"
#include "watch/kind.hpp"

namespace cotrain::reconcile {

inline constexpr std::string_view torch_runtime = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt, namespace: ns}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}}
)";

// RFC 7386, for status and metadata.
inline doc::ref merged(doc::arena& memory, doc::ref target, doc::ref patch) {
    if (!patch.is_object()) return patch;
    doc::editor out =
        target.is_object() ? doc::editor::of(memory, doc::deep_copy(memory, target)) : doc::editor::object(memory);
    for (const auto& m : patch.members()) {
        if (m.value.is_null()) {
            out.remove(m.key());
        } else {
            out.set(m.key(), merged(memory, out.get(m.key()), m.value));
        }
    }
    return out;
}

inline std::unexpected<base::error> refused(int status) {
    return base::fail(
        base::error{.code = base::errc::status, .http_status = status, .message = std::to_string(status)});
}
// As JobSet's webhook says it, and as much of it as is kept.
inline std::unexpected<base::error> immutable() {
    base::error e =
        base::make_error(base::errc::status,
                         "422 Invalid: admission webhook \"vjobset.kb.io\" denied the request: JobSet \"job\" is "
                         "invalid: spec.replicatedJobs: Invalid value: [{\"name\":\"launcher\",\"gro…");
    e.http_status = 422;
    return base::fail(std::move(e));
}
inline std::uint64_t version_of(std::string_view object) {
    doc::arena memory;
    const auto text = doc::parse_json_copy(memory, object)->get({"metadata", "resourceVersion"}).as_string();
    return text.empty() ? 0 : std::stoull(std::string(text));
}
// Whether a patch is meant for another version of the object.
inline bool names_another_version(std::string_view patch, std::string_view object) {
    return version_of(patch) != 0 && version_of(patch) != version_of(object);
}

// Whether `wanted` says nothing of an object that is not so there; lists with names are compared by these.
inline bool is_part(doc::ref wanted, doc::ref found) {
    if (wanted.is_object()) {
        return std::ranges::all_of(wanted.members(),
                                   [&](const doc::member& m) { return is_part(m.value, found.get(m.key())); });
    }
    if (!wanted.is_array() || wanted.empty()) return (wanted.is_array() && found.is_unset()) || equal(wanted, found);
    if (!wanted.at(0).get("name").is_string()) return equal(wanted, found);
    return std::ranges::all_of(wanted.items(), [&](doc::ref item) {
        const doc::ref same = found.find_by("name", item.get("name").as_string());
        return same && is_part(item, same);
    });
}

// What JobSet lets nobody change in the jobs of a JobSet that is there.
inline doc::ref fixed_jobs(doc::arena& memory, doc::ref spec) {
    const doc::ref jobs = spec.get("replicatedJobs");
    doc::editor out = doc::editor::array(memory);
    for (const doc::ref each : jobs.items()) {
        doc::editor job = doc::editor::of(memory, doc::deep_copy(memory, each));
        out.append(job);
        doc::editor pod = job.child({"template", "spec", "template"});
        if (!pod) continue;
        if (doc::editor metadata = pod.child("metadata")) {
            for (const char* key : {"labels", "annotations"}) metadata.remove(key);
        }
        if (doc::editor inner = pod.child("spec")) {
            for (const char* key : {"nodeSelector", "tolerations", "schedulingGates"}) inner.remove(key);
        }
    }
    return out;
}

// A JobSet as an apply of its jobs' counts leaves it.
inline doc::ref with_counts_of(doc::arena& memory, doc::ref found, doc::ref wanted) {
    doc::editor out = doc::editor::of(memory, doc::deep_copy(memory, found));
    for (const doc::ref each : wanted.get({"spec", "replicatedJobs"}).items()) {
        doc::editor spec = out.ensure_object("spec")
                               .ensure_array("replicatedJobs")
                               .ensure_entry("name", each.get("name").as_string())
                               .ensure_object({"template", "spec"});
        for (const doc::member& m : each.get({"template", "spec"}).members()) spec.set(m.key(), m.value);
    }
    return out;
}

// "JobSet ns/job".
inline std::string label_of(const target& at) {
    std::string group = at.type->kind == "PodGroup" ? "." + std::string(at.type->group) : "";
    return std::string(at.type->kind) + group + " " + at.ns + "/" + at.name;
}
inline std::string label_of(doc::ref object) {
    const auto kind = object.get("kind").as_string();
    std::string label(kind);
    if (kind == "PodGroup") {
        const auto version = object.get("apiVersion").as_string();
        label.append(".").append(version.substr(0, version.find('/')));
    }
    label.append(" ").append(object.get({"metadata", "namespace"}).as_string());
    return label.append("/").append(object.get({"metadata", "name"}).as_string());
}
inline watch::kind kind_of_label(std::string_view label) {
    const std::string_view kind = label.substr(0, label.find(' '));
    for (const watch::kind k : watch::all_kinds())
        if (watch::info_of(k).label == kind) return k;
    throw std::runtime_error("no kind " + std::string(label));
}

}  // namespace cotrain::reconcile
