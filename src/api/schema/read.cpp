// Reads schemas, refusing what could not be judged.
#include "api/schema/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/json.hpp"
#include "api/schema/rules.hpp"

namespace cotrain::api::schema {
namespace {

// Deeper schemas, and types that contain themselves, are refused.
constexpr unsigned schema_depth_max = 100;

using resolver = base::result<shared_node> (*)(void* context, std::string_view name, unsigned depth);

class reader {
   public:
    reader(resolver resolve, void* context) : resolve_(resolve), context_(context) {}

    base::result<node> read(ref document, const std::string& at, unsigned depth) {
        if (depth > schema_depth_max) return fail(at, "nested too deeply");
        if (!document.is_object()) return fail(at, "expected an object");
        if (const ref name = document.get("$ref")) return read_reference(document, name.as_string(), at, depth);
        node out;
        for (const member& m : document.members()) {
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

    base::result<node> read_reference(ref document, std::string_view name, const std::string& at, unsigned depth) {
        if (resolve_ == nullptr) return fail(at, "$ref has no place in a CustomResourceDefinition");
        auto type = resolve_(context_, name, depth + 1);
        if (!type) return std::unexpected(std::move(type.error()));
        node out = **type;
        for (const member& m : document.members()) {
            if (m.key() == "$ref") continue;
            if (auto read = read_keyword(out, document, m, at, depth); !read) return std::unexpected(read.error());
        }
        return out;
    }

    done read_keyword(node& out, ref document, const member& m, const std::string& at, unsigned depth) {
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
            out.fallback = to_json(m.value);
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
        if (key == "anyOf" && to_json(m.value) == R"([{"type":"integer"},{"type":"string"}])") return {};
        return fail(at, fmt::format("{}: {} is not supported", key, to_json(m.value)));
    }

    done read_below(node& out, ref document, const member& m, const std::string& at, unsigned depth) {
        const std::string inside = fmt::format("{}.{}", at, m.key());
        if (m.key() != "properties") {
            auto below = read(m.value, inside, depth + 1);
            if (!below) return std::unexpected(std::move(below.error()));
            shared_node& slot = m.key() == "items" ? out.items : out.values;
            slot = std::make_shared<const node>(std::move(*below));
            return {};
        }
        for (const member& p : m.value.members()) {
            auto below = read(p.value, fmt::format("{}.{}", inside, p.key()), depth + 1);
            if (!below) return std::unexpected(std::move(below.error()));
            const auto is_name = [&](ref name) { return name.as_string() == p.key(); };
            const bool required = std::ranges::any_of(document.get("required").items(), is_name);
            out.properties.push_back({std::string{p.key()}, std::make_shared<const node>(std::move(*below)), required});
        }
        return {};
    }

    static done read_text(std::string& out, const member& m, const std::string& at) {
        if (!m.value.is_string()) return fail(at, fmt::format("{}: expected a string", m.key()));
        out = m.value.as_string();
        return {};
    }

    static done read_texts(std::vector<std::string>& out, const member& m, const std::string& at) {
        for (const ref text : m.value.items()) {
            if (!text.is_string()) return fail(at, fmt::format("{}: only strings are supported", m.key()));
            out.emplace_back(text.as_string());
        }
        return {};
    }

    static done read_limit(std::optional<std::int64_t>& out, const member& m, const std::string& at) {
        out = m.value.as_int();
        if (!out) return fail(at, fmt::format("{}: only integers are supported", m.key()));
        return {};
    }

    template <class T, std::size_t N>
    static done read_choice(T& out, const std::array<T, N>& all, const member& m, const std::string& at) {
        for (const T choice : all) {
            if (to_string(choice) != m.value.as_string()) continue;
            out = choice;
            return {};
        }
        return fail(at, fmt::format("{}: {} is not supported", m.key(), to_json(m.value)));
    }

    static done read_pattern(node& out, const member& m, const std::string& at) {
        out.pattern = find_pattern(m.value.as_string());
        if (out.pattern == nullptr) return fail(at, fmt::format("unknown pattern {}", to_json(m.value)));
        return {};
    }

    static done read_rules(node& out, const member& m, const std::string& at) {
        for (const ref item : m.value.items()) {
            const std::string_view text = item.get("rule").as_string();
            const rule* const known = find_rule(text);
            if (known == nullptr) return fail(at, fmt::format("unknown rule \"{}\"", text));
            for (const member& part : item.members()) {
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
    static done settle(node& out, ref document, const std::string& at) {
        for (const ref name : document.get("required").items()) {
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
    ref definitions;
    std::map<std::string, shared_node, std::less<>>& types;

    base::result<shared_node> find(std::string_view name, unsigned depth) {
        if (const auto known = types.find(name); known != types.end()) return known->second;
        const ref definition = definitions.get(name);
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

base::result<node> read_schema(ref document) { return reader(nullptr, nullptr).read(document, {}, 0); }

base::result<library> library::read(ref definitions) {
    library out;
    library_reader reading{definitions, out.types_};
    for (const member& m : definitions.members()) {
        if (auto type = reading.find(m.key(), 0); !type) return std::unexpected(std::move(type.error()));
    }
    return out;
}

shared_node library::find(std::string_view name) const {
    const auto found = types_.find(name);
    return found == types_.end() ? nullptr : found->second;
}

}  // namespace cotrain::api::schema
