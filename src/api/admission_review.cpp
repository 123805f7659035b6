// Reading the API server's question and writing the answer.
#include "api/admission_review.hpp"

#include "base/encoding.hpp"
#include "doc/decode.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::api {

namespace {

constexpr std::string_view api_version = "admission.k8s.io/v1";

void read_operation(const doc::place& request, admission_operation& out) {
    std::string_view name;
    request.require("operation");
    request.read("operation", name);
    if (name == "CREATE") {
        out = admission_operation::create;
    } else if (name == "UPDATE") {
        out = admission_operation::update;
    } else if (name == "DELETE") {
        out = admission_operation::remove;
    } else if (name == "CONNECT") {
        out = admission_operation::connect;
    } else {
        request.member("operation").expected("CREATE, UPDATE, DELETE or CONNECT");
    }
}

void write_refusal(doc::editor status, const admission_response& response) {
    status.set("status", "Failure").set("message", response.message);
    if (!response.reason.empty()) status.set("reason", response.reason);
    if (response.code != 0) status.set("code", response.code);
    if (response.causes.empty() && response.kind.empty()) return;
    doc::editor details = status.ensure_object("details");
    if (!response.name.empty()) details.set("name", response.name);
    if (!response.group.empty()) details.set("group", response.group);
    if (!response.kind.empty()) details.set("kind", response.kind);
    for (const status_cause& cause : response.causes) {
        details.ensure_array("causes")
            .append_object()
            .set("reason", cause.reason)
            .set("message", cause.message)
            .set("field", cause.field);
    }
}

}  // namespace

base::result<admission_request> decode_admission_review(doc::ref document) {
    doc::decoding outcome("AdmissionReview");
    const doc::place root(outcome, document);
    admission_request out;
    if (!document.is_object()) root.expected("an object");
    std::string_view version;
    root.read("apiVersion", version);
    if (version != api_version) root.member("apiVersion").expected(api_version);
    root.require("request");
    const doc::place request = root.object("request");
    request.require("uid");
    request.read("uid", out.uid);
    const doc::place kind = request.object("kind");
    kind.read("group", out.group);
    kind.read("version", out.version);
    kind.read("kind", out.kind);
    request.object("resource").read("resource", out.resource);
    request.read("subResource", out.sub_resource);
    request.read("name", out.name);
    request.read("namespace", out.ns);
    read_operation(request, out.operation);
    request.read("dryRun", out.dry_run);
    request.read_object("object", out.object);
    request.read_object("oldObject", out.old_object);
    request.read_object("userInfo", out.user_info);
    if (!outcome.ok()) return outcome.fail();
    return out;
}

std::string encode_admission_review(std::string_view uid, const admission_response& response) {
    doc::arena memory;
    doc::editor review = doc::editor::object(memory);
    review.set("apiVersion", api_version).set("kind", "AdmissionReview");
    doc::editor out = review.ensure_object("response");
    out.set("uid", uid).set("allowed", response.allowed);
    if (!response.allowed) write_refusal(out.ensure_object("status"), response);
    if (!response.json_patch.empty())
        out.set("patch", base::encode_base64(response.json_patch)).set("patchType", "JSONPatch");
    for (const std::string& warning : response.warnings) out.ensure_array("warnings").append(warning);
    return doc::to_json(review);
}

}  // namespace cotrain::api
