// The table of our fields, and what is done for each of them.
#include "admission/own_fields.hpp"

#include <array>

#include "api/names.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::admission {
namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;
using path_steps = std::span<const std::string_view>;

constexpr std::array<std::string_view, 2> overrides_path{"spec", "podTemplateOverrides"};
constexpr std::array<std::string_view, 2> ttl_path{"spec", "ttlSecondsAfterFinished"};
constexpr std::array table{own_field{overrides_path, names::overrides_annotation},
                           own_field{ttl_path, names::ttl_annotation}};

ref value_at(ref document, path_steps path) {
    for (const std::string_view step : path) document = document.get(step);
    return document;
}

ref annotation(ref document, std::string_view name) { return document.get({"metadata", "annotations", name}); }

std::string dotted(path_steps path) {
    std::string out;
    for (const std::string_view step : path) out.append(out.empty() ? "" : ".").append(step);
    return out;
}

// As metadata.managedFields names the steps.
std::vector<std::string> owned_path(path_steps path) {
    std::vector<std::string> out;
    for (const std::string_view step : path) out.push_back("f:" + std::string(step));
    return out;
}

bool same_owner(ref a, ref b) {
    for (const std::string_view member : {"manager", "operation", "apiVersion", "subresource"}) {
        if (a.get(member).as_string() != b.get(member).as_string()) return false;
    }
    return true;
}

// The entry of the same owner, made where it is missing.
editor entry_of(editor owners, ref owner) {
    for (std::size_t i = 0; i < owners.size(); ++i) {
        if (same_owner(owners.at(i), owner)) return owners.child(i);
    }
    editor made = owners.append_object();
    for (const auto& m : owner.members()) {
        if (m.key() != "fieldsV1") made.set(m.key(), m.value);
    }
    return made;
}

// The API server has taken a dropped field from its owners already. Who applied it could not take it away any more.
void restore_owners(doc::arena& memory, json_patch& out, ref before, path_steps path) {
    const ref now = out.document().get({"metadata", "managedFields"});
    if (!now.is_array() || now.empty()) return;
    const std::vector<std::string> steps = owned_path(path);
    editor owners = editor::of(memory, now);
    bool changed = false;
    for (const ref owner : before.get({"metadata", "managedFields"}).items()) {
        ref owned = owner.get("fieldsV1");
        for (const std::string& step : steps) owned = owned.get(step);
        if (!owned) continue;
        editor fields = entry_of(owners, owner).ensure_object("fieldsV1");
        for (std::size_t i = 0; i + 1 < steps.size(); ++i) fields = fields.ensure_object(steps[i]);
        fields.set(steps.back(), owned);
        changed = true;
    }
    if (changed) out.set({"metadata", "managedFields"}, owners);
}

// A field that was stored before there were copies has none to be dropped.
ref dropped_from(ref document, ref before, const own_field& field) {
    const bool copied = has_fields_kept(before) || !annotation(before, field.copy).is_unset();
    if (copied && annotation(document, field.copy).is_unset()) return {};
    return value_at(before, field.path);
}

base::result<ref> read_copy(doc::arena& memory, ref document, const own_field& field,
                            std::vector<std::string>& warnings) {
    const ref copy = annotation(document, field.copy);
    if (!copy.is_string()) return ref{};
    if (copy.text().empty()) {
        warnings.push_back(dotted(field.path) + " was too large for annotation " + std::string(field.copy) +
                           " and is missing");
        return ref{};
    }
    auto value = doc::parse_json_copy(memory, copy.text(), {.bytes_max = field_copy_bytes_max});
    if (value) return *value;
    return base::fail(base::errc::invalid, "TrainJob: metadata.annotations[" + std::string(field.copy) +
                                               "]: expected the JSON of " + dotted(field.path) + ": " +
                                               value.error().message);
}

// On update a copy counts where this very request made it: another webhook dropped the field after ours had seen it.
// One that cannot be read refuses no update.
base::result<ref> lost_value(doc::arena& memory, ref document, ref before, const own_field& field,
                             std::vector<std::string>& warnings) {
    if (!before) return read_copy(memory, document, field, warnings);
    const ref copy = annotation(document, field.copy);
    if (copy.is_string() && !copy.text().empty() && !equal(copy, annotation(before, field.copy))) {
        if (const auto value = read_copy(memory, document, field, warnings)) return *value;
    }
    return dropped_from(document, before, field);
}

// What the other annotations leave.
std::size_t room_for(ref annotations, std::string_view name) {
    std::size_t taken = 0;
    for (const auto& m : annotations.members()) {
        if (m.key() != name) taken += m.key().size() + m.value.text().size();
    }
    return taken < annotations_bytes_max ? annotations_bytes_max - taken : 0;
}

void copy_field(doc::arena& memory, json_patch& out, ref value, std::string_view name) {
    const ref annotations = out.document().get({"metadata", "annotations"});
    std::string text;
    append_sorted_json(text, value);
    const std::size_t room = room_for(annotations, name);
    if (text.size() > field_copy_bytes_max || name.size() + text.size() > room) text.clear();
    const ref copy = annotations.get(name);
    if (name.size() > room) {
        if (copy) out.remove({"metadata", "annotations", name});
        return;
    }
    if (copy.is_string() && copy.text() == text) return;
    if (annotations.is_unset()) out.set({"metadata", "annotations"}, ref::empty_object());
    out.set({"metadata", "annotations", name}, ref::make_string(memory.copy(text)));
}

}  // namespace

std::span<const own_field> own_fields() { return table; }

bool has_fields_kept(ref document) { return !document.get({"spec", names::fields_kept}).is_unset(); }

base::result<> restore_own_fields(doc::arena& memory, json_patch& out, ref before, std::span<const own_field> fields,
                                  std::vector<std::string>& warnings) {
    if (has_fields_kept(out.document())) return {};
    for (const own_field& field : fields) {
        const ref document = out.document();
        if (!value_at(document, field.path).is_unset()) continue;
        if (!value_at(document, field.path.first(field.path.size() - 1)).is_object()) continue;
        const auto value = lost_value(memory, document, before, field, warnings);
        if (!value) return base::fail(value.error());
        if (value->is_unset()) continue;
        out.set(field.path, *value);
        if (before) restore_owners(memory, out, before, field.path);
        warnings.push_back(dotted(field.path) + " is kept: a client that does not know it left it out (to remove it, " +
                           "remove annotation " + std::string(field.copy) + ", too)");
    }
    return {};
}

void copy_own_fields(doc::arena& memory, json_patch& out, std::span<const own_field> fields) {
    const ref annotations = out.document().get({"metadata", "annotations"});
    if (!annotations.is_unset() && !annotations.is_object()) return;  // the API server takes no such object
    bool any = false;
    for (const own_field& field : fields) {
        const ref document = out.document();
        const ref value = value_at(document, field.path);
        if (!value.is_unset()) {
            copy_field(memory, out, value, field.copy);
            any = true;
        } else if (annotation(document, field.copy)) {
            out.remove({"metadata", "annotations", field.copy});
        }
    }
    const ref kept = out.document().get({"spec", names::fields_kept});
    if (any && !kept.as_bool(false)) out.set({"spec", names::fields_kept}, ref::make_bool(true));
    if (!any && kept) out.remove({"spec", names::fields_kept});
}

}  // namespace cotrain::admission
