#include "app/diff/compare.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "api/managed_fields.hpp"
#include "app/diff/three_way.hpp"
#include "app/diff/unified.hpp"
#include "app/explain/layers.hpp"
#include "crd/check.hpp"
#include "crd/crd.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "reconcile/job_set_templates.hpp"

namespace cotrain::app {

namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;

constexpr std::string_view last_applied = "kubectl.kubernetes.io/last-applied-configuration";

// Without what the API server keeps for itself.
ref told_part(doc::arena& memory, ref object) {
    constexpr std::array kept_by_server{
        std::string_view("managedFields"), std::string_view("resourceVersion"),   std::string_view("uid"),
        std::string_view("generation"),    std::string_view("creationTimestamp"), std::string_view("selfLink")};
    if (!object) return {};
    editor out = editor::of(memory, doc::deep_copy(memory, object));
    out.remove("status");
    if (editor metadata = out.child("metadata")) {
        for (const std::string_view each : kept_by_server) metadata.remove(each);
        if (editor annotations = metadata.child("annotations")) {
            annotations.remove(last_applied);
            if (annotations.size() == 0) metadata.remove("annotations");
        }
        // A job that is yet to be made has no uid, and its children's owner is not known.
        for (std::size_t i = 0; i < metadata.get("ownerReferences").size(); ++i)
            metadata.child("ownerReferences").child(i).remove("uid");
        if (metadata.get("ownerReferences").empty()) metadata.remove("ownerReferences");
    }
    if (editor data = out.child("data"); data && object.get("kind").as_string() == names::secret.kind)
        for (const doc::member& m : object.get("data").members()) data.set(m.key(), "***");
    return doc::freeze(memory, out);
}

std::string yaml_of(doc::arena& memory, ref object) {
    const ref told = told_part(memory, object);
    return told ? doc::to_yaml(told) : std::string();
}

// What one job is compared with.
class job_comparison {
   public:
    job_comparison(const live_objects& live, const plan_rules& rules, comparison& to)
        : live_(live), rules_(rules), to_(to) {}

    void compare(doc::arena& memory, const job_plan& plan) {
        const std::string ns(plan.job.meta.ns);
        const std::string name(plan.job.meta.name);
        const ref job = live_.find(names::train_job, ns, name);
        show(memory, names::train_job, ns, name, job, plan.job.document);
        if (!plan.idle.empty())
            return comment(fmt::format("nothing is applied for TrainJob {}/{}: {}", ns, name, plan.idle));
        bool planned = false;
        for (const runtime::object& each : plan.objects) {
            const auto wanted = doc::parse_json_copy(memory, each.json);
            if (!wanted) continue;
            planned = planned || each.type->kind == names::job_set.kind;
            const ref there = live_.find(*each.type, ns, each.name);
            const ref after = applied(memory, there, *wanted, each.manager);
            const bool scales = each.manager == names::scale_field_manager;
            if (there && each.type->kind == names::job_set.kind && !scales)
                note_refusal(memory, ns, name, there, after);
            show(memory, *each.type, ns, each.name, there, after);
        }
        if (!planned) compare_running(memory, plan, ns, name);
    }

   private:
    // As server-side apply does it.
    static ref applied(doc::arena& memory, ref there, ref wanted, std::string_view manager) {
        if (!there) return wanted;
        const ref fields = api::applied_fields(there, manager);
        const ref before = fields ? api::owned_part(memory, there, fields) : ref{};
        return three_way(memory, before, wanted, there, list_merge::by_key);
    }

    void comment(const std::string& text) { to_.out += "# " + text + "\n"; }

    void note_refusal(doc::arena& memory, const std::string& ns, const std::string& name, ref there, ref after) {
        const ref now = reconcile::fixed_jobs(memory, there.get("spec"));
        if (doc::equal(now, reconcile::fixed_jobs(memory, after.get("spec")))) return;
        comment(
            fmt::format("JobSet {}/{}: JobSet refuses to change these jobs of one that is there; the operator "
                        "deletes it when its Pods are gone, and makes it again",
                        ns, name));
    }

    // A JobSet that runs is left alone, whatever the plan is.
    void compare_running(doc::arena& memory, const job_plan& plan, const std::string& ns, const std::string& name) {
        const ref there = live_.find(names::job_set, ns, name);
        const auto wanted = planned_job_set(memory, plan.job, *plan.runtime, rules_.plugins);
        if (!there || !wanted) return;
        editor whole = editor::object(memory);
        for (const std::string_view key : {"apiVersion", "kind"}) whole.set(key, there.get(key));
        for (const std::string_view key : {"metadata", "spec"})
            if (const ref part = wanted->get(key)) whole.set(key, part);
        // Only the parts that the plan has: of metadata others own most.
        const ref fields = api::applied_fields(there, names::field_manager);
        editor before = editor::object(memory);
        if (fields) before.set("spec", api::owned_part(memory, there, fields).get("spec"));
        const ref after = three_way(memory, before, doc::freeze(memory, whole), there, list_merge::by_key);
        const std::string old_text = yaml_of(memory, there);
        const std::string new_text = yaml_of(memory, after);
        if (old_text == new_text) return;
        comment(
            fmt::format("JobSet {}/{} runs: JobSet would refuse this, and the operator leaves it alone until the "
                        "TrainJob is suspended (spec.suspend)",
                        ns, name));
        const std::string place = fmt::format("JobSet.{} {}/{}", names::job_set.group, ns, name);
        to_.out += unified_diff(old_text, new_text, "live/" + place, "refused/" + place);
    }

    void show(doc::arena& memory, const api::resource_type& type, const std::string& ns, const std::string& name,
              ref before, ref after) {
        show_difference(memory, type, ns, name, before, after, to_.out);
    }

   public:
    static void show_difference(doc::arena& memory, const api::resource_type& type, const std::string& ns,
                                const std::string& name, ref before, ref after, std::string& out) {
        const std::string place = fmt::format("{}{}{} {}{}{}", type.kind, type.group.empty() ? "" : ".", type.group,
                                              type.namespaced ? ns : "", type.namespaced ? "/" : "", name);
        out += unified_diff(yaml_of(memory, before), yaml_of(memory, after), "live/" + place, "applied/" + place);
    }

   private:
    const live_objects& live_;
    const plan_rules& rules_;
    comparison& to_;
};

void refuse(field_finder& finder, const manifest& m, const opinion& verdict, std::string& errors) {
    for (const remark& each : verdict.errors)
        errors += fmt::format("error: {}: {}\n", finder.place(m, each.path), each.text);
}

const api::resource_type& runtime_type(ref document) {
    return document.get("kind").as_string() == names::training_runtime_kind ? names::training_runtime
                                                                            : names::cluster_training_runtime;
}

// As the API server keeps it: with its namespace and the definition's defaults.
void compare_runtime(doc::arena& memory, ref document, const live_objects& live, const std::string& ns,
                     comparison& to) {
    const api::resource_type& type = runtime_type(document);
    const auto own = document.get({"metadata", "namespace"}).as_string();
    const std::string where = own.empty() ? ns : std::string(own);
    const std::string name(document.get({"metadata", "name"}).as_string());
    editor kept = editor::of(memory, crd::shape(memory, *crd::schema_of(type.kind), document).document);
    if (type.namespaced) kept.ensure_object("metadata").set("namespace", where);
    job_comparison::show_difference(memory, type, where, name, live.find(type, where, name), doc::freeze(memory, kept),
                                    to.out);
}

}  // namespace

std::string live_objects::key(const api::resource_type& type, std::string_view ns, std::string_view name) {
    return fmt::format("{}.{} {}/{}", type.kind, type.group, type.namespaced ? ns : std::string_view{}, name);
}

void live_objects::add(const api::resource_type& type, std::string_view ns, std::string_view name, ref document) {
    if (!document || !places_.emplace(key(type, ns, name), list_.size()).second) return;
    list_.push_back({document, std::string(name)});
}

ref live_objects::find(const api::resource_type& type, std::string_view ns, std::string_view name) const {
    const auto found = places_.find(key(type, ns, name));
    return found == places_.end() ? ref{} : list_[found->second].document;
}

ref applied_over(doc::arena& memory, ref given, ref live) {
    if (!live) return given;
    const auto last = doc::parse_json_copy(memory, live.get({"metadata", "annotations", last_applied}).as_string());
    return three_way(memory, last ? *last : ref{}, given, live, list_merge::replaced);
}

comparison compare(const std::vector<manifest>& given, const live_objects& live, const std::string& ns,
                   const plan_rules& rules) {
    comparison out;
    planner plans(ns, false, rules, field_validation::strict);
    plans.observe(live.list());
    plans.take(given);
    field_finder finder;
    job_comparison jobs(live, rules, out);
    for (const auto& [what, verdict] : plans.misfits()) refuse(finder, what, verdict, out.errors);
    for (const manifest& m : plans.runtimes()) {
        if (!m.from) continue;  // the cluster's own
        doc::arena memory;
        const opinion verdict = plans.judge_runtime(m.document);
        refuse(finder, m, verdict, out.errors);
        if (!verdict.accepted()) continue;
        compare_runtime(memory, m.document, live, ns, out);
    }
    doc::arena memory(doc::plan_bytes_max);
    for (const manifest& m : plans.jobs()) {
        memory.clear();
        const job_plan plan = plans.plan(memory, m, true);
        refuse(finder, m, plan.verdict, out.errors);
        if (plan.verdict.accepted()) jobs.compare(memory, plan);
    }
    return out;
}

}  // namespace cotrain::app
