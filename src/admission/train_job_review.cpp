// Looks up runtime, snapshot, JobSet and priority classes, as far as they matter, and runs the rules.
#include "admission/train_job_review.hpp"

#include <span>
#include <utility>

#include "admission/kueue.hpp"
#include "admission/runtime_review.hpp"
#include "api/names.hpp"
#include "doc/member_index.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/elastic.hpp"
#include "runtime/info.hpp"
#include "runtime/object.hpp"
#include "runtime/status.hpp"

namespace cotrain::admission {
namespace {

using doc::ref;
using runtime::fault;
using runtime::presence;
namespace names = api::names;

// Members of spec.trainer that gate MutableWhileSuspended frees; the first is what ElasticTrainJob frees.
constexpr std::string_view mutable_members[] = {"numNodes", "resourcesPerNode"};

const api::resource_type& runtime_type(const api::runtime_ref& wanted) {
    return wanted.kind == names::cluster_training_runtime_kind ? names::cluster_training_runtime
                                                               : names::training_runtime;
}

bool differs(ref a, ref b) { return a.is_unset() ? !b.is_unset() : !equal(a, b); }

bool spec_member_changed(const api::train_job& job, const api::train_job* before, std::string_view member) {
    return before != nullptr && differs(before->document.get({"spec", member}), job.document.get({"spec", member}));
}

// spec.fieldsKept is written by our own webhook, beside whatever else changes.
bool may_change_with_suspend(std::string_view member) { return member == "suspend" || member == names::fields_kept; }

bool changes_only_suspend(const api::train_job& job, const api::train_job* before) {
    if (before == nullptr) return false;
    const ref was = before->document.get("spec");
    const ref is = job.document.get("spec");
    const doc::member_index in_was(was);
    const doc::member_index in_is(is);
    for (const auto& m : is.members()) {
        if (!may_change_with_suspend(m.key()) && differs(in_was.get(m.key()), m.value)) return false;
    }
    for (const auto& m : was.members()) {
        if (!may_change_with_suspend(m.key()) && !in_is.contains(m.key()) && !m.value.is_unset()) return false;
    }
    return true;
}

// Stopping a job needs no runtime.
bool only_suspends(const api::train_job& job, const api::train_job* before) {
    return changes_only_suspend(job, before) && !before->spec.suspend && job.spec.suspend;
}

std::string unreadable(const question& q, std::string_view why) {
    std::string out = "cannot read ";
    out.append(q.type->kind).append(" \"").append(q.name).append("\"");
    if (!why.empty()) out.append(": ").append(why);
    return out;
}

}  // namespace

train_job_review::train_job_review(doc::arena& memory, const api::train_job& job, const api::train_job* before,
                                   const runtime::plugin_set& framework, const gates& open)
    : memory_(&memory),
      job_(&job),
      before_(before),
      framework_(&framework),
      open_(open),
      supported_(runtime::runtime_supported(job.spec.runtime)),
      spec_changed_(before == nullptr || differs(before->document.get("spec"), job.document.get("spec"))) {
    if (!supported_ || job.spec.runtime.name.empty()) stage_ = stage::done;
    if (!wanted(stage_)) advance();
}

bool train_job_review::wanted(stage s) const {
    switch (s) {
        case stage::live_runtime: return true;  // an update that changes nothing warns of deprecation, too
        case stage::snapshot: return !creating() && spec_changed_;
        case stage::job_set:
            return spec_member_changed(*job_, before_, "runtimePatches") ||
                   spec_member_changed(*job_, before_, "podTemplateOverrides") ||
                   spec_member_changed(*job_, before_, "trainer");
        case stage::priority_classes: return classes_.size() < class_names_.size();
        case stage::done: return true;
    }
    return false;
}

question train_job_review::ask(stage s) const {
    const std::string ns(job_->meta.ns);
    switch (s) {
        case stage::live_runtime: {
            const api::resource_type& type = runtime_type(job_->spec.runtime);
            return {&type, type.namespaced ? ns : std::string{}, std::string(job_->spec.runtime.name)};
        }
        case stage::snapshot: return {&names::config_map, ns, runtime::child_name(*job_, names::snapshot_suffix)};
        case stage::job_set: return {&names::job_set, ns, std::string(job_->meta.name)};
        case stage::priority_classes: return {&names::priority_class, {}, class_names_[classes_.size()]};
        case stage::done: break;
    }
    return {};
}

std::optional<question> train_job_review::next() {
    if (stage_ == stage::done) return std::nullopt;
    return ask(stage_);
}

void train_job_review::advance() {
    do {
        stage_ = static_cast<stage>(static_cast<std::uint8_t>(stage_) + 1);
        if (stage_ == stage::job_set) choose_runtime();
    } while (!wanted(stage_));
}

void train_job_review::tell(answer found) {
    switch (stage_) {
        case stage::live_runtime: tell_runtime(found); break;
        case stage::snapshot: tell_snapshot(found); break;
        case stage::job_set: tell_job_set(found); break;
        case stage::priority_classes:
            classes_.push_back({class_names_[classes_.size()], found.state});
            if (wanted(stage_)) return;
            break;
        case stage::done: return;
    }
    advance();
}

void train_job_review::tell_runtime(answer& found) {
    if (found.state == presence::missing) {
        missing_why_ = std::move(found.why);
        return;
    }
    if (found.state != presence::exists) {
        trouble_ = unreadable(ask(stage_), found.why);
        return;
    }
    live_ = std::move(found.runtime);
    if (!live_) {
        auto made = runtime::compiled_runtime::compile(found.document);
        if (!made) {
            missing_why_ = unreadable(ask(stage_), made.error().message);
            return;
        }
        live_ = std::move(*made);
    }
    deprecated_ = is_deprecated(live_->runtime());
}

// Whatever is wrong with a snapshot is the reconciler's to tell; the live runtime decides then.
void train_job_review::tell_snapshot(answer& found) {
    if (found.state == presence::missing) return;
    if (found.state != presence::exists) {
        if (!live_) trouble_ = unreadable(ask(stage_), found.why);
        return;
    }
    if (found.runtime) {
        snapshot_ = std::move(found.runtime);
    } else if (!found.document) {
        snapshot_unread_ = true;
    } else if (auto kept = runtime::read_snapshot(*job_, found.document)) {
        snapshot_ = std::move(*kept);
    }
}

void train_job_review::tell_job_set(answer& found) {
    if (found.state == presence::missing) return;
    if (found.job_set) {
        job_set_ = std::move(found.job_set);
        return;
    }
    auto set = found.state == presence::exists
                   ? api::decode_job_set(found.document)
                   : base::result<api::job_set>(base::fail(base::errc::invalid, std::move(found.why)));
    if (set) {
        job_set_ = std::move(*set);
    } else {
        trouble_ = unreadable(ask(stage_), set.error().message);
    }
}

// Priority classes matter when the job's pods are to be made with them.
void train_job_review::choose_runtime() {
    judged_by_ = snapshot_ ? snapshot_ : live_;
    if (snapshot_ || snapshot_unread_) trouble_.clear();
    const bool starts = creating() || spec_changed_;
    if (!judged_by_ || !starts || job_->meta.deleting()) return;
    if (const auto info = runtime::info::make(*memory_, *judged_by_, *job_)) {
        class_names_ = framework_->priority_classes(*info);
        classes_.reserve(class_names_.size());
    }
}

runtime::verdict train_job_review::finish() {
    runtime::verdict out;
    if (!supported_) {
        out.add({fault::unsupported,
                 {},
                 {},
                 "unsupported runtime: " + std::string(job_->spec.runtime.kind) + "." +
                     std::string(job_->spec.runtime.api_group) + " (spec.runtimeRef may name a TrainingRuntime or a " +
                     "ClusterTrainingRuntime of " + std::string(names::trainer_group) + ")"});
        return out;
    }
    warn(out);
    check_annotations(out);
    if (!spec_changed_) return out;
    if (job_->spec.runtime.name.empty()) {
        if (!only_suspends(*job_, before_))
            out.add({fault::required, "spec.runtimeRef.name", {}, "it names the runtime of the TrainJob"});
        return out;
    }
    // It was judged by the runtime that it keeps; the live one may be another by now.
    if (snapshot_unread_ && changes_only_suspend(*job_, before_)) return out;
    if (!trouble_.empty()) {
        out.add({fault::internal, "spec.runtimeRef", {}, trouble_});
    } else if (!judged_by_ && snapshot_unread_) {
        out.warn(
            "the runtime is not there any more, and the TrainJob's snapshot of it is not at hand: this change was not "
            "checked");
    } else if (!judged_by_) {
        if (!only_suspends(*job_, before_)) no_runtime(out);
    } else {
        judge(out);
    }
    return out;
}

void train_job_review::no_runtime(runtime::verdict& out) const {
    const api::resource_type& type = runtime_type(job_->spec.runtime);
    std::string detail = missing_why_;
    if (detail.empty()) {
        detail.append(type.kind).append(".").append(type.group).append(" \"").append(job_->spec.runtime.name);
        detail.append("\" not found: it must be created before the TrainJob");
    }
    out.invalid("spec.runtimeRef", job_->document.get({"spec", "runtimeRef"}), std::move(detail));
}

void train_job_review::judge(runtime::verdict& out) {
    runtime::verdict found = framework_->validate_objects(
        *memory_,
        {.job = *job_, .before = before_, .job_set = job_set_ ? &*job_set_ : nullptr, .priority_classes = classes_},
        *judged_by_);
    for (auto& error : found.errors) out.add(std::move(error));
    for (auto& warning : found.warnings) out.warn(std::move(warning));
    check_trainer(out);
    if (auto warning = kueue_warning(*memory_, *framework_, *job_, *judged_by_)) out.warn(std::move(*warning));
}

// The CRD keeps spec.trainer as it is; with gate MutableWhileSuspended it leaves that to us.
void train_job_review::check_trainer(runtime::verdict& out) const {
    if (creating() || !spec_member_changed(*job_, before_, "trainer")) return;
    check_scale(out);
    const ref was = before_->document.get({"spec", "trainer"});
    const ref is = job_->document.get({"spec", "trainer"});
    if (was.is_unset() || is.is_unset()) return;  // a section that comes or goes is no change to the CRD's rule either
    const auto frozen_part = [this](ref trainer, std::span<const std::string_view> free) {
        doc::editor rest = trainer.is_object() ? doc::editor::of(*memory_, trainer) : doc::editor::object(*memory_);
        for (const auto member : free) rest.remove(member);
        return doc::freeze(*memory_, rest);
    };
    const auto only = [&](std::span<const std::string_view> members) {
        return equal(frozen_part(was, members), frozen_part(is, members));
    };
    if (open_.elastic && only(std::span(mutable_members).first(1)) && runtime::elastic_of(*job_, judged_by_->ml()))
        return;
    if (!open_.mutable_while_suspended || !only(mutable_members)) {
        out.invalid("spec.trainer", is, "field is immutable");
    } else if (!before_->spec.suspend && !job_->spec.suspend) {
        out.forbidden(
            "spec.trainer",
            "numNodes and resourcesPerNode change only while the TrainJob is suspended before or after the update");
    } else if (job_set_ && job_set_->any_active()) {
        out.forbidden("spec.trainer",
                      "numNodes and resourcesPerNode cannot change while jobs of the JobSet are active");
    }
}

// A new size of an elastic job; whether it is within the range its plugin says.
void train_job_review::check_scale(runtime::verdict& out) const {
    const ref was = before_->document.get({"spec", "trainer", "numNodes"});
    const ref is = job_->document.get({"spec", "trainer", "numNodes"});
    if (!open_.elastic || !runtime::elastic_of(*job_, judged_by_->ml())) {
        // Nothing would follow from it; where there is a number, the rule below holds.
        if (by_scale_ && was.is_unset()) out.forbidden("spec.trainer.numNodes", "the TrainJob is not elastic");
        return;
    }
    if (!differs(was, is)) return;
    if (is.is_unset()) out.add({fault::required, "spec.trainer.numNodes", {}, "an elastic TrainJob keeps a number"});
    const bool queued = !job_->meta.label(names::kueue_queue_label).empty();
    if (queued && job_->meta.annotation(names::kueue_elastic_annotation) != "true") {
        out.forbidden("spec.trainer.numNodes", "a TrainJob in a queue of Kueue keeps its size unless annotation " +
                                                   std::string(names::kueue_elastic_annotation) + " is true");
    }
}

// The annotation is a part of spec.trainer that typed clients cannot read there, and as immutable.
void train_job_review::check_annotations(runtime::verdict& out) const {
    if (creating() || job_->meta.deleting()) return;
    const auto keep = [&](std::string_view name, std::string_view why) {
        const auto was = before_->document.get({"metadata", "annotations", name}).as_string();
        const auto is = job_->meta.annotation(name);
        if (was != is) out.invalid("metadata.annotations[" + std::string(name) + "]", is, std::string(why));
    };
    keep(names::num_proc_annotation, "field is immutable: it holds spec.trainer.numProcPerNode");
    if (open_.elastic) keep(names::elastic_annotation, "field is immutable: Pods are made for these numbers of nodes");
}

void train_job_review::warn(runtime::verdict& out) const {
    if (deprecated_) out.warn("Referenced " + deprecation(job_->spec.runtime.name));
    if (job_->spec.ttl_seconds_after_finished && !open_.ttl && spec_changed_) {
        out.warn("spec.ttlSecondsAfterFinished is ignored: feature gate TrainJobTTL is off");
    }
    if (!open_.elastic && spec_changed_ && !job_->meta.annotation(names::elastic_annotation).empty())
        out.warn("annotation " + std::string(names::elastic_annotation) +
                 " is ignored: feature gate ElasticTrainJob is off");
}

}  // namespace cotrain::admission
