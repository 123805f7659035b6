// Reads schemas, refusing what could not be judged, and writes them with members in a fixed order.
#include "crd/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "crd/rules.hpp"
#include "doc/arena.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::crd {

std::string_view to_string(value_type type) {
    static constexpr std::array<std::string_view, 8> names{"",        "object", "array",   "string",
                                                           "integer", "number", "boolean", "integer or string"};
    return names[static_cast<std::size_t>(type)];
}

std::string_view to_string(value_format format) {
    static constexpr std::array<std::string_view, 5> names{"", "int32", "int64", "double", "date-time"};
    return names[static_cast<std::size_t>(format)];
}

std::string_view to_string(list_type type) {
    static constexpr std::array<std::string_view, 4> names{"", "atomic", "set", "map"};
    return names[static_cast<std::size_t>(type)];
}

const property* node::find(std::string_view name) const {
    for (const property& p : properties) {
        if (p.name == name) return &p;
    }
    return nullptr;
}

namespace {

// Deeper schemas, and types that contain themselves, are refused.
constexpr unsigned schema_depth_max = 100;

using resolver = base::result<shared_node> (*)(void* context, std::string_view name, unsigned depth);

class reader {
   public:
    reader(resolver resolve, void* context) : resolve_(resolve), context_(context) {}

    base::result<node> read(doc::ref document, const std::string& at, unsigned depth) {
        if (depth > schema_depth_max) return fail(at, "nested too deeply");
        if (!document.is_object()) return fail(at, "expected an object");
        if (const doc::ref name = document.get("$ref")) return read_reference(document, name.as_string(), at, depth);
        node out;
        for (const doc::member& m : document.members()) {
            if (auto known = read_keyword(out, document, m, at, depth); !known) return std::unexpected(known.error());
        }
        if (auto whole = settle(out, document, at); !whole) return std::unexpected(whole.error());
        return out;
    }

   private:
    using done = base::result<>;

    static std::unexpected<base::error> fail(const std::string& at, std::string_view what) {
        return base::fail(base::errc::invalid, fmt::format("schema{}: {}", at, what));
    }

    base::result<node> read_reference(doc::ref document, std::string_view name, const std::string& at, unsigned depth) {
        if (resolve_ == nullptr) return fail(at, "$ref has no place in a CustomResourceDefinition");
        auto type = resolve_(context_, name, depth + 1);
        if (!type) return std::unexpected(std::move(type.error()));
        node out = **type;
        for (const doc::member& m : document.members()) {
            if (m.key() == "$ref") continue;
            if (auto read = read_keyword(out, document, m, at, depth); !read) return std::unexpected(read.error());
        }
        return out;
    }

    done read_keyword(node& out, doc::ref document, const doc::member& m, const std::string& at, unsigned depth) {
        const std::string_view key = m.key();
        if (key == "properties" || key == "items" || key == "additionalProperties") {
            return read_below(out, document, m, at, depth);
        }
        if (key == "description") return read_text(out.description, m, at);
        if (key == "type") return read_choice(out.type, all_types, m, at);
        if (key == "format") return read_choice(out.format, all_formats, m, at);
        if (key == "x-kubernetes-list-type") return read_choice(out.list, all_lists, m, at);
        if (key == "minimum") return read_limit(out.number.min, m, at);
        if (key == "maximum") return read_limit(out.number.max, m, at);
        if (key == "minLength" || key == "minItems" || key == "minProperties") return read_limit(out.size.min, m, at);
        if (key == "maxLength" || key == "maxItems" || key == "maxProperties") return read_limit(out.size.max, m, at);
        if (key == "enum") return read_texts(out.one_of, m, at);
        if (key == "x-kubernetes-list-map-keys") return read_texts(out.keys, m, at);
        if (key == "pattern") return read_pattern(out, m, at);
        if (key == "x-kubernetes-validations") return read_rules(out, m, at);
        if (key == "default") {
            out.fallback = doc::to_json(m.value);
            return {};
        }
        if (key == "nullable" && m.value.is_bool()) {
            out.nullable = m.value.as_bool(false);
            return {};
        }
        if (key == "x-kubernetes-preserve-unknown-fields" && m.value.is_bool()) {
            out.keeps_unknown = m.value.as_bool(false);
            return {};
        }
        if (key == "x-kubernetes-map-type" && (m.value.as_string() == "atomic" || m.value.as_string() == "granular")) {
            out.atomic_map = m.value.as_string() == "atomic";
            return {};
        }
        if (key == "x-kubernetes-int-or-string" && m.value.as_bool(false)) {
            out.type = value_type::int_or_string;
            return {};
        }
        // Both are parts of what is read with their neighbours.
        if (key == "required" && m.value.is_array()) return {};
        if (key == "anyOf" && doc::to_json(m.value) == R"([{"type":"integer"},{"type":"string"}])") return {};
        return fail(at, fmt::format("{}: {} is not supported", key, doc::to_json(m.value)));
    }

    done read_below(node& out, doc::ref document, const doc::member& m, const std::string& at, unsigned depth) {
        const std::string inside = fmt::format("{}.{}", at, m.key());
        if (m.key() != "properties") {
            auto below = read(m.value, inside, depth + 1);
            if (!below) return std::unexpected(std::move(below.error()));
            shared_node& slot = m.key() == "items" ? out.items : out.values;
            slot = std::make_shared<const node>(std::move(*below));
            return {};
        }
        for (const doc::member& p : m.value.members()) {
            auto below = read(p.value, fmt::format("{}.{}", inside, p.key()), depth + 1);
            if (!below) return std::unexpected(std::move(below.error()));
            const auto is_name = [&](doc::ref name) { return name.as_string() == p.key(); };
            const bool required = std::ranges::any_of(document.get("required").items(), is_name);
            out.properties.push_back({std::string{p.key()}, std::make_shared<const node>(std::move(*below)), required});
        }
        return {};
    }

    static done read_text(std::string& out, const doc::member& m, const std::string& at) {
        if (!m.value.is_string()) return fail(at, fmt::format("{}: expected a string", m.key()));
        out = m.value.as_string();
        return {};
    }

    static done read_texts(std::vector<std::string>& out, const doc::member& m, const std::string& at) {
        for (const doc::ref text : m.value.items()) {
            if (!text.is_string()) return fail(at, fmt::format("{}: only strings are supported", m.key()));
            out.emplace_back(text.as_string());
        }
        return {};
    }

    static done read_limit(std::optional<std::int64_t>& out, const doc::member& m, const std::string& at) {
        out = m.value.as_int();
        if (!out) return fail(at, fmt::format("{}: only integers are supported", m.key()));
        return {};
    }

    template <class T, std::size_t N>
    static done read_choice(T& out, const std::array<T, N>& all, const doc::member& m, const std::string& at) {
        for (const T choice : all) {
            if (to_string(choice) != m.value.as_string()) continue;
            out = choice;
            return {};
        }
        return fail(at, fmt::format("{}: {} is not supported", m.key(), doc::to_json(m.value)));
    }

    static done read_pattern(node& out, const doc::member& m, const std::string& at) {
        out.pattern = find_pattern(m.value.as_string());
        if (out.pattern == nullptr) return fail(at, fmt::format("unknown pattern {}", doc::to_json(m.value)));
        return {};
    }

    static done read_rules(node& out, const doc::member& m, const std::string& at) {
        for (const doc::ref item : m.value.items()) {
            const std::string_view text = item.get("rule").as_string();
            const rule* const known = find_rule(text);
            if (known == nullptr) return fail(at, fmt::format("unknown rule \"{}\"", text));
            for (const doc::member& part : item.members()) {
                if (part.key() == "rule" || part.key() == "message") continue;
                return fail(at, fmt::format("rule \"{}\": {} is not supported", text, part.key()));
            }
            const std::string_view message = item.get("message").as_string();
            out.validations.push_back(
                {known, message.empty() ? fmt::format("failed rule: {}", text) : std::string{message}});
        }
        return {};
    }

    // What can be seen only when all keywords are there.
    static done settle(node& out, doc::ref document, const std::string& at) {
        for (const doc::ref name : document.get("required").items()) {
            if (out.find(name.as_string()) == nullptr)
                return fail(at, fmt::format("required: there is no property {}", name.as_string()));
        }
        if ((out.list == list_type::map) == out.keys.empty())
            return fail(at, "a list of type map needs keys, others none");
        if (out.type == value_type::any && !out.keeps_unknown) return fail(at, "has no type");
        return {};
    }

    static constexpr std::array all_types{value_type::object,  value_type::array,  value_type::string,
                                          value_type::integer, value_type::number, value_type::boolean};
    static constexpr std::array all_formats{value_format::int32, value_format::int64, value_format::floating,
                                            value_format::date_time};
    static constexpr std::array all_lists{list_type::atomic, list_type::set, list_type::map};

    resolver resolve_;
    void* context_;
};

// Reads the types of a library, each once, in the order in which they need each other.
struct library_reader {
    doc::ref definitions;
    std::map<std::string, shared_node, std::less<>>& types;

    base::result<shared_node> find(std::string_view name, unsigned depth) {
        if (const auto known = types.find(name); known != types.end()) return known->second;
        const doc::ref definition = definitions.get(name);
        if (!definition) return base::fail(base::errc::invalid, fmt::format("schema: there is no type {}", name));
        auto read = reader(resolve, this).read(definition, fmt::format(" {}", name), depth);
        if (!read) return std::unexpected(std::move(read.error()));
        return types[std::string{name}] = std::make_shared<const node>(std::move(*read));
    }
    static base::result<shared_node> resolve(void* context, std::string_view name, unsigned depth) {
        return static_cast<library_reader*>(context)->find(name, depth);
    }
};

}  // namespace

base::result<node> read_schema(doc::ref document) { return reader(nullptr, nullptr).read(document, {}, 0); }

base::result<library> library::read(doc::ref definitions) {
    library out;
    library_reader reading{definitions, out.types_};
    for (const doc::member& m : definitions.members()) {
        if (auto type = reading.find(m.key(), 0); !type) return std::unexpected(std::move(type.error()));
    }
    return out;
}

shared_node library::find(std::string_view name) const {
    const auto found = types_.find(name);
    return found == types_.end() ? nullptr : found->second;
}

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

void write_limits(doc::editor& out, const limits& range, limit_names names) {
    if (range.min) out.set(names.min, *range.min);
    if (range.max) out.set(names.max, *range.max);
}

void write_texts(doc::editor& out, std::string_view key, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    doc::editor list = out.ensure_array(key);
    for (const std::string& text : texts) list.append(text);
}

void write_type(doc::editor& out, const node& schema) {
    if (schema.type == value_type::int_or_string) {
        doc::editor either = out.ensure_array("anyOf");
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

void write_constraints(doc::arena& memory, doc::editor& out, const node& schema) {
    if (!schema.fallback.empty())
        out.set("default", doc::parse_json_copy(memory, schema.fallback).value_or(doc::ref{}));
    write_texts(out, "enum", schema.one_of);
    if (schema.pattern != nullptr) out.set("pattern", schema.pattern->text);
    write_limits(out, schema.number, {"minimum", "maximum"});
    write_limits(out, schema.size, size_names(schema.type));
    if (schema.validations.empty()) return;
    doc::editor list = out.ensure_array("x-kubernetes-validations");
    for (const validation& v : schema.validations) {
        list.append_object().set("rule", v.check->text).set("message", v.message);
    }
}

doc::editor write_node(doc::arena& memory, const node& schema) {
    doc::editor out = doc::editor::object(memory);
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
        doc::editor properties = out.ensure_object("properties");
        for (const property& p : schema.properties) properties.set(p.name, write_node(memory, *p.value));
    }
    if (schema.values) out.set("additionalProperties", write_node(memory, *schema.values));
    if (schema.items) out.set("items", write_node(memory, *schema.items));
    return out;
}

}  // namespace

doc::ref write_schema(doc::arena& memory, const node& schema) { return write_node(memory, schema); }

namespace {

constexpr std::string_view published =
#include "crd/kubernetes.json.inc"
    ;

library read_published() {
    doc::arena memory;
    const auto document = doc::parse_json(memory, published);
    if (!document) throw std::logic_error("kubernetes.json.inc: " + document.error().message);
    auto types = library::read(*document);
    if (!types) throw std::logic_error("kubernetes.json.inc: " + types.error().message);
    return std::move(*types);
}

}  // namespace

const library& kubernetes_types() {
    static const library types = read_published();
    return types;
}

// --- equality --------------------------------------------------------------------------------------------------------

namespace {

std::string text_of(doc::ref value) {
    std::string text;
    doc::append_sorted_json(text, value);
    return text;
}

bool same_objects(const node* schema, doc::ref a, doc::ref b, set_order order) {
    return std::ranges::all_of(a.members(), [&](const doc::member& m) {
        const doc::ref other = b.get(m.key());
        if (!other) return false;
        const property* const known = schema != nullptr ? schema->find(m.key()) : nullptr;
        const node* const below = known != nullptr    ? known->value.get()
                                  : schema != nullptr ? schema->values.get()
                                                      : nullptr;
        return same(below, m.value, other, order);
    });
}

bool same_keyed(const node& list, doc::ref a, doc::ref b, set_order order) {
    const keyed_items others = index_items(list, b);
    if (others.size() != index_items(list, a).size()) return false;  // keys may occur twice
    return std::ranges::all_of(a.items(), [&](doc::ref item) {
        const auto other = others.find(key_of(list, item));
        return other != others.end() && same(list.items.get(), item, other->second, order);
    });
}

bool same_set(doc::ref a, doc::ref b) {
    const auto sorted = [](doc::ref list) {
        std::vector<std::string> texts;
        texts.reserve(list.size());
        for (const doc::ref item : list.items()) texts.push_back(text_of(item));
        std::ranges::sort(texts);
        return texts;
    };
    return sorted(a) == sorted(b);
}

bool same_arrays(const node* schema, doc::ref a, doc::ref b, set_order order) {
    if (schema != nullptr && schema->list == list_type::map) return same_keyed(*schema, a, b, order);
    if (schema != nullptr && schema->list == list_type::set && order == set_order::ignored) return same_set(a, b);
    const node* const items = schema != nullptr ? schema->items.get() : nullptr;
    return std::ranges::equal(a.items(), b.items(), [&](doc::ref x, doc::ref y) { return same(items, x, y, order); });
}

}  // namespace

bool same(const node* schema, doc::ref a, doc::ref b, set_order order) {
    if (a.type() != b.type()) return false;
    if (a.same(b)) return true;
    if (!a.is_container()) return doc::equal(a, b);
    if (a.size() != b.size()) return false;
    return a.is_object() ? same_objects(schema, a, b, order) : same_arrays(schema, a, b, order);
}

std::string key_of(const node& list, doc::ref item) {
    if (list.list != list_type::map) return text_of(item);
    std::string text;
    for (const std::string& key : list.keys) {
        // An absent member and a null are different keys.
        if (const doc::ref value = item.get(key); value) doc::append_sorted_json(text, value);
        text += '\n';  // JSON never holds a raw one
    }
    return text;
}

keyed_items index_items(const node& list, doc::ref items) {
    keyed_items index;
    index.reserve(items.size());
    for (const doc::ref item : items.items()) index.try_emplace(key_of(list, item), item);
    return index;
}

}  // namespace cotrain::crd
