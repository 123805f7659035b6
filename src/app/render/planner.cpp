#include "app/render/planner.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "admission/defaults.hpp"
#include "admission/runtime_review.hpp"
#include "admission/train_job_review.hpp"
#include "app/config/flags.hpp"
#include "app/render/misspelt.hpp"
#include "base/error.hpp"
#include "crd/check.hpp"
#include "crd/crd.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "plugins/builtin.hpp"
#include "plugins/keys.hpp"
#include "runtime/guards.hpp"
#include "runtime/status.hpp"

namespace cotrain::app {

namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;

std::string key(std::string_view api_version, std::string_view kind, std::string_view ns, std::string_view name) {
    std::string out(api_version);
    return out.append(" ").append(kind).append(" ").append(ns).append("/").append(name);
}

bool is_ours(ref document) {
    return document.get("apiVersion").as_string() == names::trainer_api_version &&
           crd::schema_of(document.get("kind").as_string()) != nullptr;
}

bool is_cluster_wide(ref document) { return document.get("kind").as_string() == names::cluster_training_runtime_kind; }

void append(opinion& out, opinion&& more) {
    std::ranges::move(more.errors, std::back_inserter(out.errors));
    std::ranges::move(more.warnings, std::back_inserter(out.warnings));
}

void append(opinion& out, const runtime::verdict& verdict) {
    for (const auto& finding : verdict.errors) out.errors.push_back({finding.path, finding.text()});
    for (const auto& text : verdict.warnings) out.warnings.push_back({{}, text});
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

using doc::ref;
namespace names = api::names;

constexpr std::size_t value_bytes_max = 100;
constexpr std::size_t path_bytes_max = 1000;

std::string env_value(ref entry) {
    if (const ref plain = entry.get("value")) return base::one_line(plain.as_string(), value_bytes_max);
    if (const ref field = entry.get({"valueFrom", "fieldRef", "fieldPath"}))
        return "<" + std::string(field.as_string()) + ">";
    if (const ref source = entry.get("valueFrom"))
        return "<" + base::one_line(doc::to_json(source), value_bytes_max) + ">";
    return {};
}

// `elastic`: within which numbers of nodes it may change, of a trainer that does.
void append_pods(std::string& out, const runtime::pod_set& set, bool trainer, const api::elastic_policy* elastic) {
    out.append("  job ").append(set.name).append(": ").append(std::to_string(set.pods()));
    if (elastic != nullptr)
        out.append("/")
            .append(std::to_string(elastic->nodes.min))
            .append("..")
            .append(std::to_string(elastic->nodes.max));
    out.append(set.pods() == 1 && elastic == nullptr ? " pod" : " pods");
    if (set.replicas != 1) out.append(" (").append(std::to_string(set.replicas)).append(" replicas)");
    if (trainer) out.append(", trains");
    if (!set.hosts.empty()) {
        out.append("\n    endpoints: ").append(set.hosts.front().text());
        if (set.hosts.size() > 1) out.append(" … ").append(set.hosts[set.hosts.size() - 1].text());
        out.append(" (").append(std::to_string(set.hosts.size())).append(")");
    }
    out.append("\n");
}

void append_resources(std::string& out, ref resources) {
    for (const std::string_view part : {"requests", "limits"}) {
        const ref list = resources.get(part);
        if (list.empty()) continue;
        out.append("    ").append(part).append(":");
        for (const auto& m : list.members()) out.append(" ").append(m.key()).append("=").append(m.value.text());
        out.append("\n");
    }
}

// The container that a job is there for: the one of its role, else the first.
ref main_container(ref containers, const runtime::pod_set& set) {
    const bool trains = set.ancestor == names::ancestor_trainer || set.ancestor.empty();
    const ref own = containers.find_by("name", trains ? names::node : set.ancestor);
    return own ? own : containers.at(0);
}

void append_container(std::string& out, ref container) {
    out.append("    image: ").append(container.get("image").as_string()).append("\n");
    append_resources(out, container.get("resources"));
    for (const ref entry : container.get("env").items()) {
        out.append("    env ").append(entry.get("name").as_string()).append("=").append(env_value(entry)).append("\n");
    }
}

// Nothing where the JobSet exists and is left alone.
ref planned_jobs(doc::arena& memory, const job_plan& plan) {
    for (const auto& object : plan.objects) {
        if (object.type->kind != names::job_set.kind) continue;
        const auto set = doc::parse_json_copy(memory, object.json);
        if (set) return set->get({"spec", "replicatedJobs"});
    }
    return {};
}

void append_gang(std::string& out, const runtime::info& info) {
    const auto* const policy = info.pod_groups();
    if (policy == nullptr) return;
    const auto gang = runtime::gang_of(info);
    if (!gang) return;
    out.append("  gang: ").append(std::to_string(gang->members)).append(" pods");
    if (policy->coscheduling) {
        out.append(", coscheduling, timeout ")
            .append(std::to_string(policy->coscheduling->schedule_timeout_seconds))
            .append(" s");
    }
    if (policy->volcano) out.append(", volcano");
    for (const auto& [name, amount] : gang->resources.entries()) {
        out.append(" ").append(name).append("=").append(amount.to_string());
    }
    out.append("\n");
}

}  // namespace

base::result<plan_rules> read_plan_rules(const std::string& config_file) {
    const auto config = load_configuration({.config_file = config_file});
    if (!config) return base::fail(config.error());
    const feature_gates gates = config->effective_gates();
    plan_rules out{{.disabled = config->disabled_plugins, .elastic = gates.elastic, .gates = open_gates(gates)},
                   to_admission(gates)};
    if (auto made = plugins::builtin::make(out.plugins); !made)
        return base::fail(std::move(made.error()).during(config_file));
    return out;
}

runtime::plugins plugins_of(const plan_rules& rules) {
    return plugins::builtin::make(rules.plugins).value_or(std::make_shared<const plugins::builtin>());
}

planner::planner(std::string ns, bool forced, const plan_rules& rules, field_validation fields)
    : ns_(std::move(ns)), forced_(forced), plugins_(plugins_of(rules)), gates_(rules.gates), fields_(fields) {}

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

void planner::note(std::string text) {
    if (++remarks_made_ <= remarks_max) remarks_.push_back(std::move(text));
}

void planner::take(std::span<const manifest> list) {
    for (const manifest& m : list) {
        const auto kind = m.document.get("kind").as_string();
        if (opinion wrong = judge_type(m.document); !wrong.accepted()) {
            misfits_.push_back({m, std::move(wrong)});
        } else if (!is_ours(m.document)) {
            note(m.where + ": " + std::string(kind) + " of " + std::string(m.document.get("apiVersion").as_string()) +
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
        note(m.where + ": takes the place of the object of the same name at " + before.where);
    }
    before = m;
}

void planner::note_unknown_fields(const crd::node& type, const std::vector<std::string>& paths, opinion& out) const {
    if (fields_ == field_validation::ignore) return;
    auto& list = fields_ == field_validation::strict ? out.errors : out.warnings;
    for (const std::string& path : paths)
        list.push_back(
            {path, "unknown field \"" + base::one_line(path, path_bytes_max) + "\"" + meant_field(type, path)});
}

planner::judged planner::judge(doc::arena& memory, ref document, ref before) const {
    judged out;
    auto& errors = out.verdict.errors;
    const crd::node& type = *crd::schema_of(document.get("kind").as_string());
    const ref metadata = document.get("metadata");
    for (const auto& fault : crd::check_metadata(metadata)) errors.push_back({fault.path, crd::to_string(fault)});
    note_unknown_fields(type, crd::unknown_metadata(metadata), out.unknown);
    const auto given = metadata.get("namespace").as_string();
    if (forced_ && !given.empty() && given != ns_ && !is_cluster_wide(document)) {
        errors.push_back({"metadata.namespace", "metadata.namespace: Invalid value: \"" + std::string(given) +
                                                    "\": -n says \"" + ns_ + "\"; leave one of them out"});
    }
    auto shaped = crd::shape(memory, type, crd::without_status(memory, document));
    note_unknown_fields(type, shaped.unknown_fields, out.unknown);
    const ref was = before ? crd::shape(memory, type, crd::without_status(memory, before)).document : ref{};
    std::string undefaulted;
    if (document.get("kind").as_string() == names::train_job_kind) {
        // Times of patches are not rendered.
        if (auto done = admission::default_train_job(memory, shaped.document, was, {})) {
            shaped.document = doc::freeze(memory, done->document);
        } else {
            undefaulted = std::move(done.error().message);
        }
    }
    // Operators with these gates have a definition without the rule that the trainer stays as it is.
    const bool free_trainer = gates_.elastic || gates_.mutable_while_suspended;
    for (const auto& fault : crd::check(type, shaped.document, was))
        if (!free_trainer || fault.kind != crd::fault::rule || fault.path != "spec.trainer")
            errors.push_back({fault.path, crd::to_string(fault)});
    if (errors.empty() && !undefaulted.empty()) errors.push_back({{}, std::move(undefaulted)});
    out.document = shaped.document;
    return out;
}

opinion planner::judge_runtime(ref document) {
    doc::arena memory;
    judged out = judge(memory, document, {});
    opinion verdict = std::move(out.unknown);
    const bool readable = out.verdict.accepted();
    append(verdict, std::move(out.verdict));
    if (!readable) return verdict;
    const auto made = runtime::compiled_runtime::compile(with_identity(memory, out.document));
    if (!made) {
        verdict.errors.push_back({{}, made.error().message});
        return verdict;
    }
    const bool skipped = (*made)->runtime().meta.label(names::webhook_validation_label) == "disabled";
    if (!skipped) {
        runtime::verdict said = admission::judge_runtime((*made)->runtime(), {});
        plugins_->validate_runtime((*made)->runtime(), {}, said);
        append(verdict, said);
    }
    if (verdict.accepted()) compiled_[key_of(document)] = *made;
    return verdict;
}

// With the namespace it gets, and the uid it has in the cluster where that is known.
ref planner::with_identity(doc::arena& memory, ref document) const {
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

// What was observed under the names that children of a job have.
template <class F>
void planner::each_child(std::string_view ns, std::string_view job, const F& visit) const {
    for (const runtime::child& c : plugins_->children()) {
        const auto found =
            observed_.find(key(c.type->api_version, c.type->kind, ns, std::string(job).append(c.suffix)));
        if (found != observed_.end()) visit(*c.type, found->second);
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

job_plan planner::plan(doc::arena& memory, const manifest& m, bool render_too) {
    job_plan out;
    const auto known = observed_.find(key_of(m.document));
    const ref before = known == observed_.end() ? ref{} : known->second;
    judged first = judge(memory, m.document, before);
    const bool readable = first.verdict.accepted();
    out.verdict = std::move(first.unknown);
    append(out.verdict, std::move(first.verdict));
    if (!readable) return out;
    auto job = api::decode_train_job(doc::freeze(memory, with_identity(memory, first.document)));
    if (!job) {
        out.verdict.errors.push_back({{}, job.error().message});
        return out;
    }
    out.job = std::move(*job);
    const auto old = before ? api::decode_train_job(before) : base::result<api::train_job>{};
    const api::train_job* const stored = before && old ? &*old : nullptr;
    admission::train_job_review review(memory, out.job, stored, *plugins_, gates_);
    while (const auto q = review.next()) review.tell(look_up(*q->type, q->ns, q->name));
    append(out.verdict, review.finish());
    if (!out.verdict.accepted() || !render_too) return out;
    auto runtime = runtime_for(out.job, review.runtime());
    if (!runtime) {
        out.verdict.errors.push_back({"spec.runtimeRef", "spec.runtimeRef: Invalid value: " + runtime.error().message});
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

void planner::render(doc::arena& memory, const runtime::compiled_runtime& runtime, job_plan& out) const {
    runtime::observed seen;
    std::vector<runtime::observed_child> children;
    each_child(out.job.meta.ns, out.job.meta.name, [&](const api::resource_type& type, ref child) {
        const auto owner = controller_of(child).get("uid").as_string();
        const std::string_view name = child.get({"metadata", "name"}).as_string();
        const bool ours = !owner.empty() && owner == out.job.meta.uid;
        const bool premade = owner.empty() && plugins_->is_premade(type, name, child);
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
        auto objects = plugins_->new_objects(memory, out.job, runtime, seen);
        if (!objects) {
            out.verdict.errors.push_back({{}, objects.error().message});
            return;
        }
        out.objects = std::move(*objects);
    }
    if (auto info = plugins_->runtime_info(memory, out.job, runtime)) out.topology.push_back(std::move(*info));
}

std::string summarise(doc::arena& memory, const job_plan& plan) {
    std::string out = "TrainJob ";
    out.append(plan.job.meta.ns).append("/").append(plan.job.meta.name).append(" on ");
    out.append(plan.job.spec.runtime.kind).append(" ").append(plan.job.spec.runtime.name);
    out.append(plan.job.spec.suspend ? ", suspended\n" : "\n");
    for (const runtime::info& info : plan.topology) {
        const auto* const trainer = info.trainer();
        const ref jobs = planned_jobs(memory, plan);
        for (const auto& set : info.pod_sets()) {
            const bool trains = &set == trainer;
            append_pods(out, set, trains, trains && info.elastic ? &*info.elastic : nullptr);
            const ref pods = jobs.find_by("name", set.name).get({"template", "spec", "template", "spec"});
            if (const ref c = main_container(pods.get("containers"), set)) append_container(out, c);
        }
        append_gang(out, info);
    }
    out.append("  objects, in this order:\n");
    for (const auto& object : plan.objects) {
        out.append("    ").append(object.type->kind).append(" ").append(object.name);
        out.append(" (").append(std::to_string(object.json.size())).append(" bytes)\n");
    }
    if (plan.objects.empty())
        out.append("    none: ").append(plan.idle.empty() ? "what is there stays as it is" : plan.idle).append("\n");
    return out;
}

}  // namespace cotrain::app
