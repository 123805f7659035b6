// Structural defaulting: the CRDs' `default`s, applied to the objects that exist.
#include "api/edit.hpp"
#include "api/json.hpp"
#include "api/names.hpp"
#include "runtime/normalise.hpp"

namespace cotrain::runtime {
namespace {

using api::editor;
using api::ref;

ref preset_of(api::arena& memory, const field_info& field) {
    if (field.preset == "false") return ref::make_bool(false);
    if (field.preset.front() != '"') return ref::make_number(field.preset);
    return ref::make_plain_string(memory.copy(field.preset.substr(1, field.preset.size() - 2)));
}

// The version of `below` that belongs into `field`, or the same value if nothing is missing in it.
ref defaulted(api::arena& memory, ref below, const field_info& field) {
    if (field.of == nullptr) return below;
    if (field.what == form::object) return with_defaults(memory, below, *field.of);
    if (field.what != form::list || !below.is_array()) return below;
    editor list;
    for (std::size_t i = 0; i < below.size(); ++i) {
        const ref before = below.at(i);
        const ref after = with_defaults(memory, before, *field.of);
        if (after.same(before)) continue;
        if (!list) list = editor::of(memory, below);
        list.replace(i, after);
    }
    return list ? list.view() : below;
}

}  // namespace

ref with_defaults(api::arena& memory, ref document, const type_info& type) {
    if (!document.is_object()) return document;
    editor changed;
    const auto put = [&](std::string_view name, ref value) {
        if (!changed) changed = editor::of(memory, document);
        changed.set(name, value);
    };
    for (const auto& field : type.fields) {
        const ref before = document.get(field.name);
        if (before.is_unset()) {
            if (!field.preset.empty()) put(field.name, preset_of(memory, field));
            continue;
        }
        const ref after = defaulted(memory, before, field);
        if (!after.same(before)) put(field.name, after);
    }
    return changed ? changed.view() : document;
}

ref with_defaults(api::arena& memory, ref document) {
    namespace names = api::names;
    if (document.get("apiVersion").as_string() != names::trainer_api_version) return document;
    const auto kind = document.get("kind").as_string();
    if (kind == names::training_runtime_kind || kind == names::cluster_training_runtime_kind) {
        return with_defaults(memory, document, schema::training_runtime);
    }
    if (kind != names::train_job_kind) return document;
    const ref job = with_defaults(memory, document, schema::train_job);
    return job;
}

}  // namespace cotrain::runtime
