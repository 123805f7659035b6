// Reads the question, hands it to the right judge, and words the answer as the API server expects it.
#include "admission/webhook.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "admission/defaults.hpp"
#include "admission/runtime_review.hpp"
#include "api/names.hpp"
#include "api/runtime.hpp"
#include "crd/check.hpp"
#include "crd/crd.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::admission {
namespace {

using runtime::fault;
namespace names = api::names;

constexpr int bad_request = 400;
constexpr int forbidden = 403;
constexpr int internal_error = 500;

constexpr std::array paths{std::string_view{"/mutate-trainer-kubeflow-org-v1alpha1-trainjob"},
                           std::string_view{"/validate-trainer-kubeflow-org-v1alpha1-trainjob"},
                           std::string_view{"/validate-trainer-kubeflow-org-v1alpha1-trainingruntime"},
                           std::string_view{"/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime"}};

std::string_view kind_of(hook h) {
    switch (h) {
        case hook::default_train_job:
        case hook::validate_train_job: return names::train_job_kind;
        case hook::validate_training_runtime: return names::training_runtime_kind;
        case hook::validate_cluster_training_runtime: return names::cluster_training_runtime_kind;
    }
    return {};
}

std::string_view reason_of(fault what) {
    switch (what) {
        case fault::invalid: return "FieldValueInvalid";
        case fault::forbidden: return "FieldValueForbidden";
        case fault::required: return "FieldValueRequired";
        case fault::unsupported: return "FieldValueNotSupported";
        case fault::internal: return "InternalError";
    }
    return {};
}

// Where an object of a review claims to be in another place than the request: "" if it does not. The API server sees
// to it that the two agree, so whoever sends such a review is somebody else, and is told nothing of the other place.
std::string elsewhere(const api::admission_request& request, std::string_view which, doc::ref object) {
    const auto says = [&](std::string_view member, std::string_view wanted, bool may_be_new) {
        const auto is = object.get({"metadata", member}).as_string();
        if (is.empty() || is == wanted || (may_be_new && wanted.empty())) return std::string();
        return "AdmissionReview: request." + std::string(which) + ".metadata." + std::string(member) +
               ": is not the request's";
    };
    // A generated name may be younger than the request.
    std::string wrong = says("namespace", request.ns, false);
    return wrong.empty() ? says("name", request.name, true) : wrong;
}

// The text after the path.
std::string body_of(const runtime::finding& f) {
    std::string text = f.text();
    if (!f.path.empty()) text.erase(0, f.path.size() + 2);
    return base::one_line(text, cause_bytes_max);
}

}  // namespace

std::string_view path_of(hook h) { return paths[static_cast<std::size_t>(h)]; }

std::optional<hook> hook_at(std::string_view path) {
    const auto found = std::ranges::find(paths, path);
    if (found == paths.end()) return std::nullopt;
    return static_cast<hook>(found - paths.begin());
}

call::call(hook h, std::string body, base::seconds_time now, const runtime::plugin_set& framework, const gates& open,
           std::size_t memory_bytes_max)
    : hook_(h), body_(std::move(body)), memory_(memory_bytes_max) {
    begin(now, framework, open);
}

void call::begin(base::seconds_time now, const runtime::plugin_set& framework, const gates& open) {
    const auto document = doc::parse_json(memory_, body_, {.bytes_max = review_bytes_max});
    if (!document) return refuse(bad_request, "AdmissionReview: " + document.error().message);
    request_.uid = document->get({"request", "uid"}).as_string();
    auto request = api::decode_admission_review(*document);
    if (!request) return refuse(bad_request, request.error().message);
    request_ = *request;
    response_.group = request_.group;
    response_.kind = request_.kind;
    response_.name = request_.name;
    const bool changes = request_.operation == api::admission_operation::create ||
                         request_.operation == api::admission_operation::update;
    if (!changes) return;
    if (hook_ == hook::validate_train_job && request_.sub_resource == "scale") return review_scale(framework, open);
    if (!request_.sub_resource.empty()) return;
    if (request_.group != names::trainer_group || request_.kind != kind_of(hook_)) {
        return refuse(bad_request, "AdmissionReview: request.kind: expected " + std::string(kind_of(hook_)) + "." +
                                       std::string(names::trainer_group) + " at " + std::string(path_of(hook_)));
    }
    if (!request_.object) return refuse(bad_request, "AdmissionReview: request.object: required");
    if (request_.operation == api::admission_operation::create) {
        request_.old_object = {};
    } else if (!request_.old_object) {
        return refuse(bad_request, "AdmissionReview: request.oldObject: required for an update");
    }
    for (const auto& [which, object] :
         {std::pair{"object", request_.object}, std::pair{"oldObject", request_.old_object}}) {
        if (auto wrong = elsewhere(request_, which, object); !wrong.empty()) return refuse(bad_request, wrong);
    }
    switch (hook_) {
        case hook::default_train_job: return default_job(now);
        case hook::validate_train_job: return review_job(framework, open);
        case hook::validate_training_runtime:
        case hook::validate_cluster_training_runtime: return review_runtime(framework);
    }
}

// Lists that are longer than the CRD allows are not looked through. The API server checks its schema after the mutating
// webhook, which leaves the refusal to it, and before the validating ones.
bool call::too_many() {
    const auto* const spec = crd::schema_of(kind_of(hook_))->find("spec");
    const auto found =
        crd::find_too_many(*spec->value, "spec", request_.object.get("spec"), request_.old_object.get("spec"));
    if (!found) return false;
    if (hook_ != hook::default_train_job) {
        refuse(bad_request, std::string(kind_of(hook_)) + ": " + crd::to_string(*found));
    }
    return true;
}

void call::default_job(base::seconds_time now) {
    if (too_many()) return;
    auto done = default_train_job(memory_, request_.object, request_.old_object, now);
    if (!done) return refuse(bad_request, std::move(done.error().message));
    response_.json_patch = std::move(done->json_patch);
    for (const auto& text : done->warnings) response_.warnings.push_back(base::one_line(text, cause_bytes_max));
}

void call::review_job(const runtime::plugin_set& framework, const gates& open) {
    if (too_many()) return;
    auto job = api::decode_train_job(request_.object);
    if (!job && spec_untouched()) return;
    if (!job) return refuse(bad_request, std::move(job.error().message));
    job_ = std::move(*job);
    if (request_.old_object) {
        before_ = api::decode_train_job(request_.old_object).value_or(api::train_job{});
        before_->document = request_.old_object;
    }
    job_.meta.ns = request_.ns;  // whatever is looked up, is looked up there
    review_.emplace(memory_, job_, before_ ? &*before_ : nullptr, framework, open);
}

// The API server shows a Scale instead of the TrainJob, which is looked up.
void call::review_scale(const runtime::plugin_set& framework, const gates& open) {
    const auto nodes = request_.object.get({"spec", "replicas"}).as_int();
    if (!nodes || equal(request_.object.get({"spec", "replicas"}), request_.old_object.get({"spec", "replicas"})))
        return;
    scaling_ = {&framework, open, *nodes};
}

// Of a TrainJob that is not known the operator judges the size itself before anything is applied.
void call::review_scaled(const answer& found) {
    const scaling wanted = *std::exchange(scaling_, std::nullopt);
    if (!found.document) return;
    doc::editor scaled = doc::editor::of(memory_, found.document);
    scaled.ensure_object("spec").ensure_object("trainer").set("numNodes", wanted.nodes);
    auto job = api::decode_train_job(doc::freeze(memory_, scaled));
    auto before = api::decode_train_job(found.document);
    if (!job || !before) return refuse(bad_request, (job ? before : job).error().message);
    job_ = std::move(*job);
    before_ = std::move(*before);
    review_.emplace(memory_, job_, &*before_, *wanted.framework, wanted.open);
    review_->is_by_scale();
}

// What is stored already is not judged again: finalizers and labels of any object can change.
bool call::spec_untouched() const {
    return request_.old_object && equal(request_.object.get("spec"), request_.old_object.get("spec"));
}

void call::review_runtime(const runtime::plugin_set& framework) {
    if (spec_untouched() || too_many()) return;
    const auto runtime = api::decode_training_runtime(request_.object);
    if (!runtime) return refuse(bad_request, runtime.error().message);
    runtime::verdict verdict = judge_runtime(*runtime, request_.old_object);
    framework.validate_runtime(*runtime, request_.old_object, verdict);
    conclude(verdict);
}

std::optional<question> call::next() {
    if (scaling_) return question{&names::train_job, std::string(request_.ns), std::string(request_.name)};
    return review_ ? review_->next() : std::nullopt;
}

void call::tell(answer found) {
    if (scaling_) return review_scaled(found);
    if (review_) review_->tell(std::move(found));
}

std::string call::finish() {
    if (review_) {
        conclude(review_->finish());
        review_.reset();
    }
    return api::encode_admission_review(request_.uid, response_);
}

void call::refuse(int code, std::string message) {
    response_.allowed = false;
    response_.code = code;
    response_.reason = code == internal_error ? "InternalError" : "";
    response_.message = base::one_line(message, message_bytes_max);
}

void call::conclude(const runtime::verdict& verdict) {
    for (const auto& text : verdict.warnings) {
        if (response_.warnings.size() == warnings_max) break;
        response_.warnings.push_back(base::one_line(text, cause_bytes_max));
    }
    if (verdict.accepted()) return;
    const bool broken = std::ranges::contains(verdict.errors, fault::internal, &runtime::finding::what);
    refuse(broken ? internal_error : forbidden, verdict.message());
    if (!broken) response_.reason = "Forbidden";
    for (const auto& f : verdict.errors) {
        if (response_.causes.size() == causes_max) break;
        response_.causes.push_back({std::string(reason_of(f.what)), body_of(f), f.path});
    }
}

}  // namespace cotrain::admission
