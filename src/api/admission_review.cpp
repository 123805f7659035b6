// Reading the API server's question and writing the answer.
#include "api/admission_review.hpp"

#include "api/decode.hpp"
#include "api/edit.hpp"
#include "api/json.hpp"

namespace cotrain::api {

namespace {

constexpr std::string_view api_version = "admission.k8s.io/v1";

std::string base64(std::string_view bytes) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const auto byte = [&](std::size_t j) -> std::uint32_t {
            return i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U;
        };
        const std::uint32_t bits = byte(0) << 16U | byte(1) << 8U | byte(2);
        out += alphabet[bits >> 18U & 63U];
        out += alphabet[bits >> 12U & 63U];
        out += i + 1 < bytes.size() ? alphabet[bits >> 6U & 63U] : '=';
        out += i + 2 < bytes.size() ? alphabet[bits & 63U] : '=';
    }
    return out;
}

void read_operation(const place& request, admission_operation& out) {
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

void write_refusal(editor status, const admission_response& response) {
    status.set("status", "Failure").set("message", response.message);
    if (!response.reason.empty()) status.set("reason", response.reason);
    if (response.code != 0) status.set("code", response.code);
    if (response.causes.empty() && response.kind.empty()) return;
    editor details = status.ensure_object("details");
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

base::result<admission_request> decode_admission_review(ref document) {
    decoding outcome("AdmissionReview");
    const place root(outcome, document);
    admission_request out;
    if (!document.is_object()) root.expected("an object");
    std::string_view version;
    root.read("apiVersion", version);
    if (version != api_version) root.member("apiVersion").expected(api_version);
    root.require("request");
    const place request = root.object("request");
    request.require("uid");
    request.read("uid", out.uid);
    const place kind = request.object("kind");
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
    arena memory;
    editor review = editor::object(memory);
    review.set("apiVersion", api_version).set("kind", "AdmissionReview");
    editor out = review.ensure_object("response");
    out.set("uid", uid).set("allowed", response.allowed);
    if (!response.allowed) write_refusal(out.ensure_object("status"), response);
    if (!response.json_patch.empty()) out.set("patch", base64(response.json_patch)).set("patchType", "JSONPatch");
    for (const std::string& warning : response.warnings) out.ensure_array("warnings").append(warning);
    return to_json(review);
}

}  // namespace cotrain::api
