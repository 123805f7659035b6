// Reads and writes metadata.managedFields.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/edit.hpp"
#include "sim/ownership.hpp"

namespace cotrain::sim {

std::string to_string(const manager_id& id) {
    std::string out = fmt::format("\"{}\"", id.name);
    if (!id.subresource.empty()) out += fmt::format(" with subresource \"{}\"", id.subresource);
    if (!id.applies) out += " using " + id.api_version;
    return out;
}

owners read_owners(api::ref managed_fields) {
    owners out;
    for (const api::ref entry : managed_fields.items()) {
        const std::string_view operation = entry.get("operation").as_string();
        const std::string version{entry.get("apiVersion").as_string()};
        const bool applies = operation == "Apply";
        if ((!applies && operation != "Update") || version.empty() ||
            entry.get("fieldsType").as_string() != "FieldsV1") {
            return {};
        }
        manager_id id{std::string{entry.get("manager").as_string()}, applies, applies ? std::string{} : version,
                      std::string{entry.get("subresource").as_string()}};
        out[std::move(id)] = {read_fields(entry.get("fieldsV1")), version, std::string{entry.get("time").as_string()}};
    }
    return out;
}

api::ref write_owners(api::arena& memory, const owners& all) {
    if (all.empty()) return {};
    std::vector<const owners::value_type*> sorted;
    for (const auto& each : all) sorted.push_back(&each);
    const auto rank = [](const owners::value_type* each) {
        const auto& [id, fields] = *each;
        return std::tuple(id.applies ? 0 : 1, fields.time, id.name, fields.api_version, id.subresource);
    };
    std::ranges::sort(sorted, {}, rank);
    api::editor out = api::editor::array(memory);
    for (const auto* each : sorted) {
        const auto& [id, fields] = *each;
        api::editor entry = out.append_object();
        entry.set("apiVersion", fields.api_version);
        entry.set("fieldsType", "FieldsV1").set("fieldsV1", write_fields(memory, fields.set));
        if (!id.name.empty()) entry.set("manager", id.name);
        entry.set("operation", id.applies ? "Apply" : "Update");
        if (!id.subresource.empty()) entry.set("subresource", id.subresource);
        if (!fields.time.empty()) entry.set("time", fields.time);
    }
    return out.view();
}

}  // namespace cotrain::sim
