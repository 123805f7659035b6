// Documents as Go would write them, and with the defaults of the CRDs.
#include "runtime/normalise.hpp"

#include <string>
#include <utility>

#include "api/names.hpp"
#include "api/quantity.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/tree_builder.hpp"
#include "runtime/object.hpp"

namespace cotrain::runtime {
namespace {

using doc::editor;
using doc::ref;

ref preset_of(doc::arena& memory, const field_info& field) {
    if (field.preset == "false") return ref::make_bool(false);
    if (field.preset.front() != '"') return ref::make_number(field.preset);
    return ref::make_plain_string(memory.copy(field.preset.substr(1, field.preset.size() - 2)));
}

// The version of `below` that belongs into `field`, or the same value if nothing is missing in it.
ref defaulted(doc::arena& memory, ref below, const field_info& field) {
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

ref with_defaults(doc::arena& memory, ref document, const type_info& type) {
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

ref with_defaults(doc::arena& memory, ref document) {
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

namespace {

class normaliser {
   public:
    explicit normaliser(doc::arena& memory, std::string_view path) : memory_(memory), built_(memory), path_(path) {}

    base::result<ref> object(ref document, const type_info& type);

   private:
    base::result<ref> member(ref value, const field_info& field);
    base::result<ref> amount(ref value);
    base::result<ref> amounts(ref map);
    base::result<ref> list(ref items, const field_info& field);

    doc::arena& memory_;
    doc::tree_builder built_;  // of all objects that are open
    std::string path_;
};

bool is_zero(ref value) {
    if (value.is_bool()) return !value.as_bool(true);
    if (value.is_string()) return value.text().empty();
    return value.is_number() && value.as_double() == 0.0;
}

base::result<ref> normaliser::amount(ref value) {
    const auto text = value.text();
    auto normal = api::normal_quantity(text);
    if (!normal) return base::fail(std::move(normal.error()).during(path_));
    if (value.is_string() && *normal == text) return value;
    return ref::make_plain_string(memory_.copy(*normal));
}

base::result<ref> normaliser::amounts(ref map) {
    if (!map.is_object()) return map;
    if (map.empty()) return ref{};
    const std::size_t mark = built_.mark();
    bool changed = false;
    const std::size_t above = path_.size();
    for (const auto& m : map.members()) {
        path_.append("[").append(m.key()).append("]");
        const auto after = amount(m.value);
        if (!after) return after;
        path_.resize(above);
        changed = changed || !after->same(m.value);
        built_.push(m.name);
        built_.push(*after);
    }
    if (changed) return built_.close(doc::kind::object, mark);
    built_.drop(mark);
    return map;
}

base::result<ref> normaliser::list(ref items, const field_info& field) {
    if (!items.is_array()) return items;
    if (items.empty()) return ref{};
    if (field.of == nullptr) return items;
    editor changed;
    const std::size_t above = path_.size();
    for (std::size_t i = 0; i < items.size(); ++i) {
        const ref before = items.at(i);
        path_.append("[").append(std::to_string(i)).append("]");
        const auto after = object(before, *field.of);
        if (!after) return after;
        path_.resize(above);
        if (after->same(before)) continue;
        if (!changed) changed = editor::of(memory_, items);
        changed.replace(i, *after);
    }
    return changed ? changed.view() : items;
}

// The member's normal value; absent if it is left out.
base::result<ref> normaliser::member(ref value, const field_info& field) {
    switch (field.what) {
        case form::plain: return value;
        case form::brief: return is_zero(value) ? ref{} : value;
        case form::amount:
        case form::sure_amount: return amount(value);
        case form::object: return field.of == nullptr ? value : object(value, *field.of);
        case form::list: return list(value, field);
        case form::map: return value.is_object() && value.empty() ? ref{} : value;
        case form::amounts: return amounts(value);
    }
    return value;
}

base::result<ref> normaliser::object(ref document, const type_info& type) {
    if (!document.is_object()) return document;
    if (auto good = check_memory(memory_); !good) return base::fail(std::move(good.error()));
    const std::size_t above = path_.size();
    const std::size_t mark = built_.mark();
    bool changed = false;
    for (const auto& m : document.members()) {
        const field_info* const field = type.find(m.key());
        ref after = m.value.is_null() ? ref{} : m.value;
        if (after && field != nullptr && field->what != form::plain) {
            if (above != 0) path_ += '.';
            path_.append(m.key());
            const auto normal = member(m.value, *field);
            if (!normal) return normal;
            path_.resize(above);
            after = *normal;
        }
        changed = changed || !after.same(m.value);
        if (!after) continue;
        built_.push(m.name);
        built_.push(after);
    }
    for (const auto& field : type.fields) {
        if (field.what != form::sure_amount || !document.get(field.name).is_unset()) continue;
        changed = true;
        built_.push(ref::make_plain_string(field.name));
        built_.push(ref::make_plain_string("0"));
    }
    if (changed) return built_.close(doc::kind::object, mark);
    built_.drop(mark);
    return document;
}

}  // namespace

base::result<ref> normalise(doc::arena& memory, ref document, const type_info& type, std::string_view path) {
    return normaliser{memory, path}.object(document, type);
}

}  // namespace cotrain::runtime
