// Pairs TrainJobs with runtimes, judges both, and plans.
#include "app/planner.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "admission/defaults.hpp"
#include "admission/runtime_review.hpp"
#include "admission/train_job_review.hpp"
#include "api/edit.hpp"
#include "api/schema/check.hpp"
#include "api/schema/crd.hpp"
#include "api/schema/metadata.hpp"
#include "plugins/flux_keys.hpp"
#include "plugins/mpi_keys.hpp"
#include "runtime/guards.hpp"
#include "runtime/status.hpp"

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

void append(opinion& out, const runtime::verdict& verdict) {
    for (const auto& finding : verdict.errors) out.errors.push_back(finding.text());
    std::ranges::copy(verdict.warnings, std::back_inserter(out.warnings));
}

ref controller_of(ref document) {
    for (const ref owner : document.get({"metadata", "ownerReferences"}).items()) {
        if (owner.get("controller").as_bool(false)) return owner;
    }
    return {};
}

// The states in which the operator leaves a job alone.
std::string idle_reason(const api::train_job& job, const api::train_job* before) {
    if (runtime::managed_elsewhere(job)) return "spec.managedBy gives it to " + std::string(job.spec.managed_by);
    if (before != nullptr && before->meta.deleting()) return "it is being deleted";
    if (before != nullptr && runtime::is_finished(before->status)) return "it has finished";
    return {};
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

void planner::remark(std::string text) {
    if (++remarks_made_ <= remarks_max) remarks_.push_back(std::move(text));
}

void planner::take(std::span<const manifest> list) {
    for (const manifest& m : list) {
        const auto kind = m.document.get("kind").as_string();
        if (!is_ours(m.document)) {
            remark(m.where + ": " + std::string(kind) + " of " + std::string(m.document.get("apiVersion").as_string()) +
                   " is ignored: only TrainJobs and runtimes of " + std::string(names::trainer_api_version) +
                   " are looked at");
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
        remark(m.where + ": takes the place of the object of the same name at " + before.where);
    }
    before = m;
}

planner::judged planner::judge(api::arena& memory, ref document, ref before) const {
    judged out;
    auto& errors = out.verdict.errors;
    const schema::node& type = *schema::schema_of(document.get("kind").as_string());
    const ref metadata = document.get("metadata");
    for (const auto& fault : schema::check_metadata(metadata)) errors.push_back(schema::to_string(fault));
    for (const auto& field : schema::unknown_metadata(metadata))
        out.verdict.warnings.push_back("unknown field \"" + field + "\"");
    const auto given = metadata.get("namespace").as_string();
    if (forced_ && !given.empty() && given != ns_ && !is_cluster_wide(document)) {
        errors.push_back("metadata.namespace: Invalid value: \"" + std::string(given) + "\": -n says \"" + ns_ +
                         "\"; leave one of them out");
    }
    auto shaped = schema::shape(memory, type, schema::without_status(memory, document));
    for (const auto& field : shaped.unknown_fields) out.verdict.warnings.push_back("unknown field \"" + field + "\"");
    const ref was = before ? schema::shape(memory, type, schema::without_status(memory, before)).document : ref{};
    std::string undefaulted;
    if (document.get("kind").as_string() == names::train_job_kind) {
        // Times of patches are not rendered.
        if (auto done = admission::default_train_job(memory, shaped.document, was, {})) {
            shaped.document = api::freeze(memory, done->document);
        } else {
            undefaulted = std::move(done.error().message);
        }
    }
    for (const auto& fault : schema::check(type, shaped.document, was)) errors.push_back(schema::to_string(fault));
    if (errors.empty() && !undefaulted.empty()) errors.push_back(std::move(undefaulted));
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
    if (!skipped) append(out.verdict, admission::judge_runtime((*made)->runtime(), {}));
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

// What was observed under the names that children of a job have: its own, or its own and a suffix.
template <class F>
void planner::each_child(std::string_view ns, std::string_view job, const F& visit) const {
    for (const auto* type : child_types) {
        std::string own = key(type->api_version, type->kind, ns, job);
        if (const auto found = observed_.find(own); found != observed_.end()) visit(*type, found->second);
        own += '-';
        for (auto each = observed_.lower_bound(own); each != observed_.end() && each->first.starts_with(own); ++each)
            visit(*type, each->second);
    }
}

// Files have no uids; children that exist know the one of their TrainJob.
std::string planner::uid_from_children(ref job) const {
    const auto name = job.get({"metadata", "name"}).as_string();
    std::string uid;
    each_child(namespace_of(job), name, [&](const api::resource_type&, ref child) {
        const ref owner = controller_of(child);
        const bool of_job = owner.get("kind").as_string() == names::train_job_kind;
        if (uid.empty() && of_job && owner.get("name").as_string() == name) uid = owner.get("uid").as_string();
    });
    return uid;
}

// Files and what was observed stand for the cluster.
admission::answer planner::look_up(const api::resource_type& type, std::string_view ns, std::string_view name) const {
    using runtime::presence;
    const std::string k = key(type.api_version, type.kind, ns, name);
    if (const auto made = compiled_.find(k); made != compiled_.end()) {
        return {.state = presence::exists, .runtime = made->second};
    }
    if (const auto kept = observed_.find(k); kept != observed_.end()) {
        return {.state = presence::exists, .document = kept->second};
    }
    // What files do not tell is not wrong.
    if (type.kind == names::priority_class.kind) return {.state = presence::unknown};
    std::string why(type.kind);
    why.append(" \"").append(name).append("\"");
    if (runtime_places_.contains(k)) return {.state = presence::missing, .why = why + " is given, but refused"};
    why.append(" is not among the files");
    if (type.namespaced) why.append(" in namespace \"").append(ns).append("\"");
    return {.state = presence::missing, .why = why + "; add it with -f"};
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
    const auto old = before ? api::decode_train_job(before) : base::result<api::train_job>{};
    const api::train_job* const stored = before && old ? &*old : nullptr;
    admission::train_job_review review(memory, out.job, stored, framework_, {});
    while (const auto q = review.next()) review.tell(look_up(*q->type, q->ns, q->name));
    append(out.verdict, review.finish());
    if (!out.verdict.accepted() || !render_too) return out;
    auto runtime = runtime_for(out.job, review.runtime());
    if (!runtime) {
        out.verdict.errors.push_back("spec.runtimeRef: Invalid value: " + runtime.error().message);
    } else {
        out.runtime = std::move(*runtime);
        out.idle = idle_reason(out.job, stored);
        render(memory, *out.runtime, out);
    }
    return out;
}

// A job that has a snapshot is rendered from it, or not at all.
base::result<planner::compiled> planner::runtime_for(const api::train_job& job, const compiled& judged_by) const {
    const std::string snapshot = runtime::child_name(job, names::snapshot_suffix);
    const auto kept = observed_.find(key("v1", "ConfigMap", job.meta.ns, snapshot));
    if (kept != observed_.end()) return runtime::read_snapshot(job, kept->second);
    if (!judged_by) return base::fail(base::errc::invalid, "neither the runtime nor its snapshot is given");
    return judged_by;
}

void planner::render(api::arena& memory, const runtime::compiled_runtime& runtime, job_plan& out) const {
    runtime::observed seen;
    std::vector<runtime::observed_child> children;
    each_child(out.job.meta.ns, out.job.meta.name, [&](const api::resource_type& type, ref child) {
        const auto owner = controller_of(child).get("uid").as_string();
        const std::string_view name = child.get({"metadata", "name"}).as_string();
        const bool ours = !owner.empty() && owner == out.job.meta.uid;
        const bool premade = owner.empty() && runtime::is_premade(type, name, child);
        using runtime::child_state;
        const child_state state = premade ? child_state::premade : child_state::foreign;
        children.push_back({&type, name, ours ? child_state::ours : state});
    });
    const auto set =
        observed_.find(key(names::job_set.api_version, names::job_set.kind, out.job.meta.ns, out.job.meta.name));
    const auto existing = set == observed_.end() ? base::result<api::job_set>{} : api::decode_job_set(set->second);
    seen.children = children;
    seen.job_set = set != observed_.end() && existing ? &*existing : nullptr;
    seen.make_ssh_key = [] { return plugins::make_ssh_key(plugins::system_bytes()); };
    seen.make_curve_key = [] { return plugins::make_curve_key(plugins::system_bytes()); };
    if (out.idle.empty()) {
        auto objects = framework_.new_objects(memory, out.job, runtime, seen);
        if (!objects) {
            out.verdict.errors.push_back(objects.error().message);
            return;
        }
        out.objects = std::move(*objects);
    }
    if (auto info = framework_.runtime_info(memory, out.job, runtime)) out.topology.push_back(std::move(*info));
}

}  // namespace cotrain::app
