// Words refusals.
#include "sim/failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

failure about(const kind& of, std::string_view name, int code, std::string_view reason, std::string message) {
    return {code, std::string{reason}, std::move(message), std::string{name}, of.group, of.plural};
}

std::string_view cause_reason(crd::fault what) {
    using crd::fault;
    switch (what) {
        case fault::required: return "FieldValueRequired";
        case fault::type: return "FieldValueTypeInvalid";
        case fault::unsupported: return "FieldValueNotSupported";
        case fault::too_long: return "FieldValueTooLong";
        case fault::too_many: return "FieldValueTooMany";
        case fault::duplicate: return "FieldValueDuplicate";
        case fault::invalid:
        case fault::rule: break;
    }
    return "FieldValueInvalid";
}

}  // namespace

failure not_found(const kind& of, std::string_view name) {
    return about(of, name, 404, "NotFound", fmt::format("{} \"{}\" not found", of.resource(), name));
}
failure already_exists(const kind& of, std::string_view name) {
    return about(of, name, 409, "AlreadyExists", fmt::format("{} \"{}\" already exists", of.resource(), name));
}
failure in_conflict(const kind& of, std::string_view name, std::string_view why) {
    return about(of, name, 409, "Conflict",
                 fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", of.resource(), name, why));
}
failure stale(const kind& of, std::string_view name) {
    return in_conflict(of, name,
                       "the object has been modified; please apply your changes to the latest version and try again");
}
failure bad_request(std::string message) { return {400, "BadRequest", std::move(message)}; }
failure forbidden(const kind& of, std::string_view name, std::string_view why) {
    return about(of, name, 403, "Forbidden", fmt::format("{} \"{}\" is forbidden: {}", of.resource(), name, why));
}
failure unsupported_media(std::string_view type) {
    return {415, "UnsupportedMediaType",
            fmt::format("the body of the request was in an unknown format - accepted media types include: "
                        "application/json-patch+json, application/merge-patch+json, "
                        "application/strategic-merge-patch+json, application/apply-patch+yaml; not {}",
                        type)};
}
failure method_not_allowed() {
    return {405, "MethodNotAllowed", "the server does not allow this method on the requested resource"};
}
failure no_such_path() { return {404, "NotFound", "the server could not find the requested resource"}; }
failure expired(std::string message) { return {410, "Expired", std::move(message)}; }
failure internal(std::string message) { return {500, "InternalError", "Internal error occurred: " + message}; }

failure invalid(const kind& of, std::string_view name, const std::vector<crd::violation>& violations) {
    failure out{422, "Invalid", {}, std::string{name}, of.group, of.name};
    std::string all;
    for (const crd::violation& each : violations) {
        std::string text = to_string(each);
        if (!all.empty()) all += ", ";
        all += text;
        const std::size_t head =
            (each.path.empty() ? std::string_view{"<nil>"} : std::string_view{each.path}).size() + 2;
        out.causes.push_back(
            {std::string{cause_reason(each.kind)}, text.substr(std::min(head, text.size())), each.path});
    }
    const std::string what = of.group.empty() ? of.name : of.name + "." + of.group;
    out.message = violations.size() == 1 ? fmt::format("{} \"{}\" is invalid: {}", what, name, all)
                                         : fmt::format("{} \"{}\" is invalid: [{}]", what, name, all);
    return out;
}

failure apply_conflict(const conflicts& found) {
    failure out{409, "Conflict", {}};
    std::map<std::string, std::string> lines;  // by manager
    for (const conflict& each : found) {
        out.causes.push_back({"FieldManagerConflict", "conflict with " + to_string(each.with), to_string(each.where)});
        lines[to_string(each.with)] += "\n- " + to_string(each.where);
    }
    if (found.size() == 1) {
        out.message = fmt::format("Apply failed with 1 conflict: {}: {}", out.causes[0].message, out.causes[0].field);
        return out;
    }
    std::string text;
    for (const auto& [manager, paths] : lines) {
        if (!text.empty()) text += '\n';
        text += fmt::format("conflicts with {}:{}", manager, paths);
    }
    out.message = fmt::format("Apply failed with {} conflicts: {}", found.size(), text);
    return out;
}

std::string to_status(const failure& what) {
    doc::arena memory;
    doc::editor out = doc::editor::object(memory);
    out.set("kind", "Status").set("apiVersion", "v1").set("metadata", doc::ref::empty_object());
    out.set("status", "Failure").set("message", what.message);
    if (!what.reason.empty()) out.set("reason", what.reason);
    if (!what.name.empty() || !what.what.empty() || !what.causes.empty()) {
        doc::editor details = out.ensure_object("details");
        if (!what.name.empty()) details.set("name", what.name);
        if (!what.group.empty()) details.set("group", what.group);
        if (!what.what.empty()) details.set("kind", what.what);
        for (const cause& each : what.causes) {
            doc::editor item = details.ensure_array("causes").append_object();
            item.set("reason", each.reason).set("message", each.message).set("field", each.field);
        }
    }
    out.set("code", what.code);
    return doc::to_json(out);
}

std::string success_status(const kind& of, std::string_view name, std::string_view uid) {
    doc::arena memory;
    doc::editor out = doc::editor::object(memory);
    out.set("kind", "Status").set("apiVersion", "v1").set("metadata", doc::ref::empty_object());
    out.set("status", "Success");
    doc::editor details = out.ensure_object("details");
    details.set("name", name);
    if (!of.group.empty()) details.set("group", of.group);
    details.set("kind", of.plural).set("uid", uid);
    return doc::to_json(out);
}

}  // namespace cotrain::sim
