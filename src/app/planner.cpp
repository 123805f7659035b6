// Pairs TrainJobs with runtimes, judges both, and plans.
#include "app/planner.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "api/edit.hpp"
#include "api/schema/check.hpp"
#include "api/schema/crd.hpp"
#include "api/validation.hpp"
#include "plugins/mpi_keys.hpp"

namespace cotrain::app {
namespace {

using api::editor;
using api::ref;
namespace names = api::names;
namespace schema = api::schema;

constexpr std::array child_types{&names::job_set, &names::config_map, &names::secret, &names::coscheduling_pod_group,
                                 &names::volcano_pod_group};

std::string key(std::string_view api_version, std::string_view kind, std::string_view ns, std::string_view name) {
    std::string out(api_version);
    return out.append(" ").append(kind).append(" ").append(ns).append("/").append(name);
}

bool is_ours(ref document) {
    return document.get("apiVersion").as_string() == names::trainer_api_version &&
           schema::schema_of(document.get("kind").as_string()) != nullptr;
}

bool is_cluster_wide(ref document) { return document.get("kind").as_string() == names::cluster_training_runtime_kind; }

ref controller_of(ref document) {
    for (const ref owner : document.get({"metadata", "ownerReferences"}).items()) {
        if (owner.get("controller").as_bool(false)) return owner;
    }
    return {};
}

std::string deprecation(std::string_view name) {
    return "ClusterTrainingRuntime \"" + std::string(name) +
           "\" is deprecated: choose another runtime, a later release of Kubeflow Trainer will not bring it";
}

bool is_deprecated(const api::training_runtime& runtime) {
    return runtime.cluster_wide() && runtime.meta.label(names::support_label) == names::support_deprecated;
}

// Jobs with a role run once, and have the container which their role is played in.
void check_roles(ref jobs, std::vector<std::string>& errors) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const ref job = jobs.at(i);
        const auto role = job.get({"template", "metadata", "labels", names::ancestor_label}).as_string();
        const bool initializes = role == names::ancestor_dataset || role == names::ancestor_model;
        if (!initializes && role != names::ancestor_trainer) continue;
        const std::string path = "spec.template.spec.replicatedJobs[" + std::to_string(i) + "]";
        const auto replicas = job.get("replicas").as_int(1);
        if (replicas != 1) {
            errors.push_back(path + ".replicas: Invalid value: " + std::to_string(replicas) + ": must be 1");
        }
        const auto wanted = initializes ? role : names::node;
        const ref pods = job.get({"template", "spec", "template", "spec"});
        if (!pods.get("containers").find_by("name", wanted) && !pods.get("initContainers").find_by("name", wanted)) {
            errors.push_back(path + ".template.spec.template.spec.containers: Invalid value: a job labelled " +
                             std::string(role) + " must have a container named " + std::string(wanted));
        }
    }
}

}  // namespace

std::string planner::namespace_of(ref document) const {
    if (is_cluster_wide(document)) return {};
    const auto given = document.get({"metadata", "namespace"}).as_string();
    return given.empty() ? ns_ : std::string(given);
}

std::string planner::key_of(ref document) const {
    return key(document.get("apiVersion").as_string(), document.get("kind").as_string(), namespace_of(document),
               document.get({"metadata", "name"}).as_string());
}

void planner::observe(std::span<const manifest> list) {
    for (const manifest& m : list) {
        observed_[key_of(m.document)] = m.document;
        if (is_ours(m.document) && m.document.get("kind").as_string() != names::train_job_kind) {
            put(runtimes_, runtime_places_, m);
        }
    }
}

void planner::take(std::span<const manifest> list) {
    for (const manifest& m : list) {
        const auto kind = m.document.get("kind").as_string();
        if (!is_ours(m.document)) {
            remarks_.push_back(m.where + ": " + std::string(kind) + " of " +
                               std::string(m.document.get("apiVersion").as_string()) +
                               " is ignored: only TrainJobs and runtimes of " +
                               std::string(names::trainer_api_version) + " are looked at");
        } else if (kind == names::train_job_kind) {
            put(jobs_, job_places_, m);
        } else {
            put(runtimes_, runtime_places_, m);
        }
    }
}

// As with `kubectl apply`, the last of several counts.
void planner::put(std::vector<manifest>& list, std::map<std::string, std::size_t>& places, const manifest& m) {
    const auto [place, is_new] = places.try_emplace(key_of(m.document), list.size());
    if (is_new || m.document.get({"metadata", "name"}).as_string().empty()) {
        list.push_back(m);
        return;
    }
    manifest& before = list[place->second];
    if (!observed_.contains(place->first)) {
        remarks_.push_back(m.where + ": takes the place of the object of the same name at " + before.where);
    }
    before = m;
}

planner::judged planner::judge(api::arena& memory, ref document, ref before) const {
    judged out;
    auto& errors = out.verdict.errors;
    const schema::node& type = *schema::schema_of(document.get("kind").as_string());
    const ref name = document.get({"metadata", "name"});
    if (!name.is_string() || name.text().empty()) {
        errors.emplace_back("metadata.name: Required value: a name is needed, generateName is the API server's");
    } else {
        for (const auto& fault : api::check_dns1123_subdomain(name.text())) {
            errors.push_back("metadata.name: Invalid value: \"" + std::string(name.text()) + "\": " + fault);
        }
    }
    const auto given = document.get({"metadata", "namespace"}).as_string();
    if (forced_ && !given.empty() && given != ns_ && !is_cluster_wide(document)) {
        errors.push_back("metadata.namespace: Invalid value: \"" + std::string(given) + "\": -n says \"" + ns_ +
                         "\"; leave one of them out");
    }
    const auto shaped = schema::shape(memory, type, schema::without_status(memory, document));
    for (const auto& field : shaped.unknown_fields) out.verdict.warnings.push_back("unknown field \"" + field + "\"");
    const ref was = before ? schema::shape(memory, type, schema::without_status(memory, before)).document : ref{};
    for (const auto& fault : schema::check(type, shaped.document, was)) errors.push_back(schema::to_string(fault));
    out.document = shaped.document;
    return out;
}

opinion planner::judge_runtime(ref document) {
    api::arena memory;
    judged out = judge(memory, document, {});
    if (!out.verdict.accepted()) return std::move(out.verdict);
    const auto made = runtime::compiled_runtime::compile(with_identity(memory, out.document));
    if (!made) {
        out.verdict.errors.push_back(made.error().message);
        return std::move(out.verdict);
    }
    const bool skipped = (*made)->runtime().meta.label(names::webhook_validation_label) == "disabled";
    if (!skipped) check_roles(out.document.get({"spec", "template", "spec", "replicatedJobs"}), out.verdict.errors);
    if (is_deprecated((*made)->runtime())) out.verdict.warnings.push_back(deprecation((*made)->name()));
    if (out.verdict.accepted()) compiled_[key_of(document)] = *made;
    return std::move(out.verdict);
}

// With the namespace it gets, and the uid it has in the cluster where that is known.
ref planner::with_identity(api::arena& memory, ref document) const {
    if (is_cluster_wide(document)) return document;
    editor out = editor::of(memory, document);
    editor metadata = out.ensure_object("metadata");
    metadata.set("namespace", namespace_of(document));
    if (metadata.get("uid").is_unset()) {
        const auto before = observed_.find(key_of(document));
        std::string uid;
        if (before != observed_.end()) uid = before->second.get({"metadata", "uid"}).as_string();
        if (uid.empty() && document.get("kind").as_string() == names::train_job_kind) uid = uid_from_children(document);
        if (!uid.empty()) metadata.set("uid", uid);
    }
    return out;
}

// Files have no uids; children that exist know the one of their TrainJob.
std::string planner::uid_from_children(ref job) const {
    const auto name = job.get({"metadata", "name"}).as_string();
    const auto ns = namespace_of(job);
    for (const auto& [k, child] : observed_) {
        const ref owner = controller_of(child);
        if (owner.get("kind").as_string() == names::train_job_kind && owner.get("name").as_string() == name &&
            namespace_of(child) == ns) {
            return std::string(owner.get("uid").as_string());
        }
    }
    return {};
}

base::result<planner::compiled> planner::runtime_for(const api::train_job& job) {
    const std::string snapshot = std::string(job.meta.name) + std::string(names::snapshot_suffix);
    const auto kept = observed_.find(key("v1", "ConfigMap", job.meta.ns, snapshot));
    if (kept != observed_.end()) return runtime::read_snapshot(job, kept->second);
    const auto& wanted = job.spec.runtime;
    const bool cluster_wide = wanted.kind == names::cluster_training_runtime_kind;
    const std::string k =
        key(std::string(wanted.api_group) + "/v1alpha1", wanted.kind, cluster_wide ? "" : job.meta.ns, wanted.name);
    const auto found = compiled_.find(k);
    if (found != compiled_.end()) return found->second;
    std::string message(wanted.kind);
    message.append(" \"").append(wanted.name).append("\"");
    if (runtime_places_.contains(k)) return base::fail(base::errc::invalid, message + " is given, but refused");
    message.append(" is not among the files");
    if (!cluster_wide) message.append(" in namespace \"").append(job.meta.ns).append("\"");
    return base::fail(base::errc::invalid, message + "; add it with -f");
}

job_plan planner::plan(api::arena& memory, const manifest& m, bool render_too) {
    job_plan out;
    const auto known = observed_.find(key_of(m.document));
    const ref before = known == observed_.end() ? ref{} : known->second;
    judged first = judge(memory, m.document, before);
    out.verdict = std::move(first.verdict);
    if (!out.verdict.accepted()) return out;
    auto job = api::decode_train_job(api::freeze(memory, with_identity(memory, first.document)));
    if (!job) {
        out.verdict.errors.push_back(job.error().message);
        return out;
    }
    out.job = std::move(*job);
    const auto runtime = runtime_for(out.job);
    if (!runtime) {
        out.verdict.errors.push_back("spec.runtimeRef: Invalid value: " + runtime.error().message);
        return out;
    }
    if (is_deprecated((*runtime)->runtime())) out.verdict.warnings.push_back(deprecation((*runtime)->name()));
    const auto set =
        observed_.find(key(names::job_set.api_version, names::job_set.kind, out.job.meta.ns, out.job.meta.name));
    const auto existing = set == observed_.end() ? base::result<api::job_set>{} : api::decode_job_set(set->second);
    const auto old = before ? api::decode_train_job(before) : base::result<api::train_job>{};
    const auto verdict =
        framework_.validate_objects(memory,
                                    {.job = out.job,
                                     .before = before && old ? &*old : nullptr,
                                     .job_set = set != observed_.end() && existing ? &*existing : nullptr},
                                    **runtime);
    for (const auto& finding : verdict.errors) out.verdict.errors.push_back(finding.text());
    std::ranges::copy(verdict.warnings, std::back_inserter(out.verdict.warnings));
    if (out.verdict.accepted() && render_too) render(memory, **runtime, out);
    return out;
}

void planner::render(api::arena& memory, const runtime::compiled_runtime& runtime, job_plan& out) const {
    runtime::observed seen;
    std::vector<runtime::observed_child> children;
    for (const auto& [k, child] : observed_) {
        if (namespace_of(child) != out.job.meta.ns) continue;
        for (const auto* type : child_types) {
            if (child.get("kind").as_string() != type->kind || child.get("apiVersion").as_string() != type->api_version)
                continue;
            const auto owner = controller_of(child).get("uid").as_string();
            const bool ours = !owner.empty() && owner == out.job.meta.uid;
            children.push_back({type, child.get({"metadata", "name"}).as_string(),
                                ours ? runtime::child_state::ours : runtime::child_state::foreign});
        }
    }
    const auto set =
        observed_.find(key(names::job_set.api_version, names::job_set.kind, out.job.meta.ns, out.job.meta.name));
    const auto existing = set == observed_.end() ? base::result<api::job_set>{} : api::decode_job_set(set->second);
    seen.children = children;
    seen.job_set = set != observed_.end() && existing ? &*existing : nullptr;
    seen.make_ssh_key = [] { return plugins::make_ssh_key(plugins::system_bytes()); };
    auto objects = framework_.new_objects(memory, out.job, runtime, seen);
    if (!objects) {
        out.verdict.errors.push_back(objects.error().message);
        return;
    }
    out.objects = std::move(*objects);
    if (auto info = framework_.runtime_info(memory, out.job, runtime)) out.topology.push_back(std::move(*info));
}

}  // namespace cotrain::app
