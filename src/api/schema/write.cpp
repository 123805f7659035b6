// Writes schemas with members in a fixed order: what it is, then what is inside.
#include "api/schema/write.hpp"

#include <algorithm>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "api/schema/rules.hpp"

namespace cotrain::api::schema {
namespace {

struct limit_names {
    std::string_view min;
    std::string_view max;
};

limit_names size_names(value_type type) {
    if (type == value_type::array) return {"minItems", "maxItems"};
    if (type == value_type::object) return {"minProperties", "maxProperties"};
    return {"minLength", "maxLength"};
}

void write_limits(editor& out, const limits& range, limit_names names) {
    if (range.min) out.set(names.min, *range.min);
    if (range.max) out.set(names.max, *range.max);
}

void write_texts(editor& out, std::string_view key, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    editor list = out.ensure_array(key);
    for (const std::string& text : texts) list.append(text);
}

void write_type(editor& out, const node& schema) {
    if (schema.type == value_type::int_or_string) {
        editor either = out.ensure_array("anyOf");
        either.append_object().set("type", "integer");
        either.append_object().set("type", "string");
        out.set("x-kubernetes-int-or-string", true);
    } else if (schema.type != value_type::any) {
        out.set("type", to_string(schema.type));
    }
    if (schema.format != value_format::none) out.set("format", to_string(schema.format));
    if (schema.list != list_type::unspecified) out.set("x-kubernetes-list-type", to_string(schema.list));
    write_texts(out, "x-kubernetes-list-map-keys", schema.keys);
    if (schema.atomic_map) out.set("x-kubernetes-map-type", "atomic");
    if (schema.nullable) out.set("nullable", true);
    if (schema.keeps_unknown) out.set("x-kubernetes-preserve-unknown-fields", true);
}

void write_constraints(arena& memory, editor& out, const node& schema) {
    if (!schema.fallback.empty()) out.set("default", parse_json_copy(memory, schema.fallback).value_or(ref{}));
    write_texts(out, "enum", schema.one_of);
    if (schema.pattern != nullptr) out.set("pattern", schema.pattern->text);
    write_limits(out, schema.number, {"minimum", "maximum"});
    write_limits(out, schema.size, size_names(schema.type));
    if (schema.validations.empty()) return;
    editor list = out.ensure_array("x-kubernetes-validations");
    for (const validation& v : schema.validations) {
        list.append_object().set("rule", v.check->text).set("message", v.message);
    }
}

editor write_node(arena& memory, const node& schema) {
    editor out = editor::object(memory);
    if (!schema.description.empty()) out.set("description", schema.description);
    write_type(out, schema);
    write_constraints(memory, out, schema);
    std::vector<std::string> required;
    for (const property& p : schema.properties) {
        if (p.required) required.push_back(p.name);
    }
    std::ranges::sort(required);
    write_texts(out, "required", required);
    if (!schema.properties.empty()) {
        editor properties = out.ensure_object("properties");
        for (const property& p : schema.properties) properties.set(p.name, write_node(memory, *p.value));
    }
    if (schema.values) out.set("additionalProperties", write_node(memory, *schema.values));
    if (schema.items) out.set("items", write_node(memory, *schema.items));
    return out;
}

}  // namespace

ref write_schema(arena& memory, const node& schema) { return write_node(memory, schema); }

}  // namespace cotrain::api::schema
