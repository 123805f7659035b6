// admission.k8s.io/v1: what the API server asks a webhook, and the answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "doc/tree.hpp"

namespace cotrain::api {

enum class admission_operation : std::uint8_t { create, update, remove, connect };

struct admission_request {
    std::string_view uid;
    std::string_view group;  // of kind
    std::string_view version;
    std::string_view kind;
    std::string_view resource;
    std::string_view sub_resource;
    std::string_view name;
    std::string_view ns;
    admission_operation operation = admission_operation::create;
    bool dry_run = false;
    doc::ref object;      // absent on delete
    doc::ref old_object;  // absent on create
    doc::ref user_info;
};

struct status_cause {
    std::string reason;  // "FieldValueInvalid"
    std::string message;
    std::string field;  // "spec.trainer.numNodes"
};

struct admission_response {
    bool allowed = true;
    int code = 0;        // of a refusal: 422, 403, …
    std::string reason;  // "Invalid", "Forbidden", …
    std::string message;
    std::vector<status_cause> causes;
    std::vector<std::string> warnings;
    std::string json_patch;  // [{"op": …}]; empty = no change
    // Of the object, for the details of a refusal.
    std::string group;
    std::string kind;
    std::string name;
};

[[nodiscard]] base::result<admission_request> decode_admission_review(doc::ref document);
// A whole AdmissionReview for the request with that uid.
[[nodiscard]] std::string encode_admission_review(std::string_view uid, const admission_response& response);

}  // namespace cotrain::api
