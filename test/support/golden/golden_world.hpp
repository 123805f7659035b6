// A cluster of one namespace in memory: objects, the operator's decisions, nothing else. What the API server adds to
// objects (defaults of CRDs, uids) is added here.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/jobset.hpp"
#include "api/trainjob.hpp"
#include "base/time.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "plugins/builtin.hpp"
#include "plugins/keys.hpp"
#include "runtime/normalise.hpp"
#include "runtime/schema.hpp"

namespace cotrain::golden {

using doc::editor;
using doc::ref;

// RFC 7386.
inline ref merge_patch(doc::arena& memory, ref target, ref patch) {
    if (!patch.is_object()) return patch;
    editor out = target.is_object() ? editor::of(memory, doc::deep_copy(memory, target)) : editor::object(memory);
    for (const auto& m : patch.members()) {
        if (m.value.is_null()) {
            out.remove(m.key());
        } else {
            out.set(m.key(), merge_patch(memory, out.get(m.key()), m.value));
        }
    }
    return out;
}

class world {
   public:
    using key = std::pair<std::string, std::string>;  // kind (with group for PodGroups), name

    explicit world(doc::arena& memory) : memory_(memory) {}

    // The name of an object in the recordings.
    static key key_of(ref document) {
        std::string kind(document.get("kind").as_string());
        const auto version = document.get("apiVersion").as_string();
        if (kind == "PodGroup") kind.append(".").append(version.substr(0, version.find('/')));
        return {kind, std::string(document.get({"metadata", "name"}).as_string())};
    }

    [[nodiscard]] ref find(const std::string& kind, std::string_view name) const {
        const auto found = objects_.find({kind, std::string(name)});
        return found == objects_.end() ? ref{} : found->second;
    }
    [[nodiscard]] const std::map<key, ref>& objects() const { return objects_; }
    void pass(std::chrono::microseconds time) { now_ += time; }
    // What the operator applied last; absent where somebody else has changed the object since.
    [[nodiscard]] ref applied(const key& k) const {
        const auto found = applied_.find(k);
        return found == applied_.end() ? ref{} : found->second;
    }
    void forget_applied(const key& k) { applied_.erase(k); }
    // Why the operator cannot bring a job's children about, by job.
    [[nodiscard]] const std::map<std::string, std::string>& troubles() const { return troubles_; }

    // As the API server would store a new object of the case.
    ref admit(ref document) {
        editor out = editor::of(memory_, doc::deep_copy(memory_, document));
        editor metadata = out.ensure_object("metadata");
        const auto [kind, name] = key_of(document);
        // A second TrainJob of the same name is another one.
        const int before = kind == "TrainJob" ? namesakes_[name] : 0;
        metadata.set("uid", "<uid of " + kind + " " + name + std::string(static_cast<std::size_t>(before), '+') + ">");
        metadata.set("creationTimestamp", base::format_time(std::chrono::floor<std::chrono::seconds>(now_)));
        if (kind != "ClusterTrainingRuntime") metadata.set("namespace", "$NS");
        ref stored = runtime::with_defaults(memory_, out);
        if (kind == "JobSet") stored = defaulted_job_set(stored);
        return stored;
    }
    void store(ref document) {
        const key k = key_of(document);
        if (k.first == "TrainJob" && !objects_.contains(k)) ++namesakes_[k.second];
        objects_[k] = doc::freeze(memory_, document);
    }
    void remove(const std::string& kind, const std::string& name) {
        const ref held = find(kind, name);
        if (!held.get({"metadata", "finalizers"}).empty()) {
            editor out = editor::of(memory_, held);
            out.ensure_object("metadata").set("deletionTimestamp", "2026-01-01T00:00:00Z");
            store(out);
            return;
        }
        objects_.erase({kind, name});
    }
    ref patched(ref document, ref patch) {
        ref after = runtime::with_defaults(memory_, merge_patch(memory_, document, patch));
        return doc::freeze(memory_, after);
    }

    // A TrainJob's runtime as admission sees it: the snapshot of a job that has one.
    base::result<std::shared_ptr<const runtime::compiled_runtime>> runtime_of(const api::train_job& job) const {
        if (const ref kept = find("ConfigMap", std::string(job.meta.name) + std::string(api::names::snapshot_suffix))) {
            return runtime::read_snapshot(job, kept);
        }
        return live_runtime(job);
    }
    base::result<std::shared_ptr<const runtime::compiled_runtime>> live_runtime(const api::train_job& job) const {
        const ref found = find(std::string(job.spec.runtime.kind), job.spec.runtime.name);
        if (!found) return base::fail(base::errc::invalid, "runtime not found");
        return runtime::compiled_runtime::compile(found);
    }

    void reconcile_all() {
        now_ += std::chrono::seconds{1};
        for (int round = 0; round < 3; ++round) {
            const auto all = objects_;
            for (const auto& [k, document] : all) {
                if (k.first == "TrainJob") reconcile(k.second);
            }
        }
    }

    [[nodiscard]] const plugins::builtin& operator_framework() const { return framework_; }
    [[nodiscard]] api::job_set job_set_of(std::string_view name) const {
        auto set = api::decode_job_set(find("JobSet", name));
        return set ? *set : api::job_set{};
    }

   private:
    ref defaulted_job_set(ref document) {
        editor out = editor::of(memory_, document);
        if (const ref spec = out.get("spec")) {
            out.set("spec", runtime::with_defaults(memory_, spec, runtime::schema::job_set_spec));
        }
        return out;
    }

    void reconcile(const std::string& name) {
        const ref document = find("TrainJob", name);
        auto job = api::decode_train_job(document);
        if (!job || runtime::managed_elsewhere(*job)) return;
        const bool has_set = static_cast<bool>(find("JobSet", name));
        const api::job_set set = job_set_of(name);
        runtime::status_input in{.job = *job,
                                 .job_set = has_set ? &set : nullptr,
                                 .runtime_supported = runtime::runtime_supported(job->spec.runtime),
                                 .now = now_,
                                 .ended_by_others = goes_on_.contains(std::string(job->meta.uid))};
        auto outcome = framework_.trainjob_status(in);
        troubles_.erase(name);
        if (outcome.wants_children) {
            if (auto done = make_children(*job, in.job_set); !done) {
                troubles_[name] = done.error().message;
                in.trouble = {"Trouble", done.error().message};
            }
            outcome = framework_.trainjob_status(in);
        }
        if (outcome.finished) {
            goes_on_.erase(std::string(job->meta.uid));
        } else {
            goes_on_.emplace(job->meta.uid);
        }
        if (outcome.delete_job_set) remove("JobSet", name);
        if (const ref patch = api::status_patch(memory_, job->status, outcome.status)) {
            store(merge_patch(memory_, document, patch));
        }
    }

    base::result<> make_children(const api::train_job& job, const api::job_set* set) {
        auto runtime = runtime_of(job);
        if (!runtime) return base::fail(runtime.error());
        std::vector<std::string> names;
        std::vector<runtime::observed_child> children;
        names.reserve(objects_.size());
        for (const auto& [k, document] : objects_) {
            const api::resource_type* const type = type_of(k.first);
            if (type == nullptr) continue;
            names.push_back(k.second);
            children.push_back(
                {type, names.back(),
                 owner_of(document) == job.meta.uid ? runtime::child_state::ours : runtime::child_state::foreign});
        }
        runtime::observed seen;
        seen.children = children;
        seen.job_set = set;
        seen.make_ssh_key = [] { return plugins::make_ssh_key(plugins::system_bytes()); };
        seen.make_curve_key = [] { return plugins::make_curve_key(plugins::system_bytes()); };
        const auto objects = framework_.new_objects(memory_, job, **runtime, seen);
        if (!objects) return base::fail(objects.error());
        for (const auto& o : *objects) {
            if (auto done = apply(o); !done) return done;
        }
        return {};
    }

    // Server-side apply by the only manager there is: what was applied before and is not now goes.
    base::result<> apply(const runtime::object& o) {
        const auto parsed = doc::parse_json_copy(memory_, o.json);
        if (!parsed) return base::fail(parsed.error());
        editor out = editor::of(memory_, admit(*parsed));
        if (const ref before = find(key_of(*parsed).first, o.name)) {
            for (const std::string_view kept : {"status"}) {
                if (const ref v = before.get(kept)) out.set(kept, v);
            }
            out.ensure_object("metadata").set("creationTimestamp", before.get({"metadata", "creationTimestamp"}));
        }
        store(out);
        applied_[key_of(*parsed)] = *parsed;
        return {};
    }

    static const api::resource_type* type_of(const std::string& kind) {
        for (const auto* type : {&api::names::job_set, &api::names::config_map, &api::names::secret}) {
            if (type->kind == kind) return type;
        }
        if (kind == "PodGroup.scheduling.x-k8s.io") return &api::names::coscheduling_pod_group;
        return kind == "PodGroup.scheduling.volcano.sh" ? &api::names::volcano_pod_group : nullptr;
    }
    static std::string_view owner_of(ref document) {
        for (const ref owner : document.get({"metadata", "ownerReferences"}).items()) {
            if (owner.get("controller").as_bool(false)) return owner.get("uid").as_string();
        }
        return {};
    }

    doc::arena& memory_;
    std::map<key, ref> objects_;
    std::map<key, ref> applied_;
    std::map<std::string, std::string> troubles_;
    plugins::builtin framework_;
    base::micros_time now_ = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};
    std::map<std::string, int> namesakes_;
    std::set<std::string> goes_on_;  // uids of TrainJobs that had not ended when the operator last saw them
};

}  // namespace cotrain::golden
