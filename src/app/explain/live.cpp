#include "app/explain/live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "api/managed_fields.hpp"
#include "api/names.hpp"
#include "base/error.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::app {

namespace {

namespace names = api::names;

constexpr std::size_t value_bytes_max = 200;
constexpr std::size_t message_bytes_max = 2000;

std::string_view text_of(doc::ref object, std::string_view key) { return object.get(key).as_string(); }

// Who owns which field, by its path; the operator itself only where nobody else does.
std::map<std::string, std::string, std::less<>> owners_of(doc::ref object) {
    doc::arena memory;
    std::map<std::string, std::string, std::less<>> out;
    for (const doc::ref entry : object.get({"metadata", "managedFields"}).items()) {
        const std::string manager = base::one_line(text_of(entry, "manager"), value_bytes_max);
        if (!text_of(entry, "subresource").empty()) continue;
        for (const auto& [path, value] : fields_of(api::owned_part(memory, object, entry.get("fieldsV1")))) {
            std::string& owner = out[path];
            if (owner.empty() || owner == names::field_manager) owner = manager;
        }
    }
    return out;
}

void append_conditions(std::string& out, doc::ref conditions) {
    if (conditions.empty()) return;
    out += "conditions:\n";
    for (const doc::ref c : conditions.items())
        out += fmt::format("  {}={}  {}: {}\n", text_of(c, "type"), text_of(c, "status"), text_of(c, "reason"),
                           base::one_line(text_of(c, "message"), message_bytes_max));
}

// Whatever an entry of status.failures has, in the order it has it.
void append_failures(std::string& out, doc::ref failures) {
    if (failures.empty()) return;
    out += "failures:\n";
    for (const doc::ref each : failures.items()) {
        std::string line;
        for (const doc::member& m : each.members()) {
            const std::string value = m.value.is_container() ? doc::to_json(m.value) : std::string(m.value.text());
            line += fmt::format("{}{}: {}", line.empty() ? "" : ", ", m.key(), base::one_line(value, value_bytes_max));
        }
        out += "  " + base::one_line(line, message_bytes_max) + "\n";
    }
}

}  // namespace

doc::ref explained_part(doc::arena& memory, doc::ref job_set) {
    doc::editor out = doc::editor::object(memory);
    for (const std::string_view key : {"labels", "annotations"})
        if (const doc::ref part = job_set.get({"metadata", key}); !part.empty())
            out.ensure_object("metadata").set(key, part);
    out.set("spec", job_set.get("spec"));
    return doc::freeze(memory, out);
}

layer_map live_layers(doc::ref job_set, const explained& planned) {
    doc::arena memory;
    const auto owners = owners_of(job_set);
    const field_values wanted = fields_of(planned.job_set);
    layer_map out;
    for (const auto& [path, value] : fields_of(explained_part(memory, job_set))) {
        const auto plan = wanted.find(path);
        const auto layer = planned.layers.find(path);
        const std::string of_plan = layer == planned.layers.end() ? std::string() : layer->second;
        if (plan != wanted.end() && plan->second == value) {
            out.emplace(path, of_plan);
            continue;
        }
        const auto owner = owners.find(path);
        const bool others = owner != owners.end() && owner->second != names::field_manager;
        std::string text = others ? "manager " + owner->second : plan == wanted.end() ? "default" : "an earlier plan";
        if (plan != wanted.end())
            text += fmt::format("; planned: {} ({})", base::one_line(plan->second, value_bytes_max), of_plan);
        out.emplace(path, std::move(text));
    }
    return out;
}

std::string describe_job(doc::ref train_job, std::string_view runtime) {
    const doc::ref metadata = train_job.get("metadata");
    const doc::ref status = train_job.get("status");
    std::string out = fmt::format("TrainJob {}/{}\n", text_of(metadata, "namespace"), text_of(metadata, "name"));
    const auto line = [&out](std::string_view name, std::string_view text) {
        if (!text.empty()) out += fmt::format("{:<12}{}\n", name, base::one_line(text, message_bytes_max));
    };
    line("runtime:", runtime);
    line("state:", text_of(status, "state"));
    line("message:", text_of(status, "message"));
    if (const doc::ref nodes = status.get("nodes"); nodes.is_object())
        line("nodes:", fmt::format("{} of {} ready", nodes.get("ready").as_int(0), nodes.get("desired").as_int(0)));
    line("restarts:", status.get("restarts").text());
    line("managed by:", train_job.get({"spec", "managedBy"}).as_string() == names::managed_by_self
                            ? std::string_view{}
                            : train_job.get({"spec", "managedBy"}).as_string());
    append_conditions(out, status.get("conditions"));
    append_failures(out, status.get("failures"));
    return out;
}

std::string describe_children(const std::vector<found_object>& children) {
    std::string out = "children:\n";
    std::string managers;
    for (const found_object& each : children) {
        const std::string name =
            fmt::format("{}{}{} {}", each.type->kind, each.type->group.empty() ? "" : ".", each.type->group, each.name);
        if (!each.trouble.empty())
            out += fmt::format("  {}: {}\n", name, base::one_line(each.trouble, message_bytes_max));
        if (!each.document) continue;
        out += "  " + name + "\n";
        if (each.type->kind != names::job_set.kind) continue;
        for (const doc::ref entry : each.document.get({"metadata", "managedFields"}).items())
            managers += fmt::format(
                "  {}  {}{} at {}\n", base::one_line(text_of(entry, "manager"), value_bytes_max),
                text_of(entry, "operation"),
                text_of(entry, "subresource").empty() ? "" : " of " + std::string(text_of(entry, "subresource")),
                text_of(entry, "time"));
    }
    if (out.ends_with("children:\n")) out += "  none\n";
    if (!managers.empty()) out += "managers of the JobSet:\n" + managers;
    return out;
}

}  // namespace cotrain::app
