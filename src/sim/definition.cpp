#include "sim/definition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace cotrain::sim {
namespace {

enum class is : std::uint8_t { text, texts, truth, number, count, list, object, any };
struct word {
    std::string_view name;
    is type;
    bool required = false;
};

constexpr std::array spec_words{word{"group", is::text, true},  word{"names", is::object, true},
                                word{"scope", is::text, true},  word{"versions", is::list, true},
                                word{"conversion", is::object}, word{"preserveUnknownFields", is::truth}};
constexpr std::array names_words{word{"plural", is::text, true}, word{"kind", is::text, true},
                                 word{"singular", is::text},     word{"listKind", is::text},
                                 word{"shortNames", is::texts},  word{"categories", is::texts}};
constexpr std::array version_words{
    word{"name", is::text, true},       word{"served", is::truth, true},  word{"storage", is::truth, true},
    word{"schema", is::object, true},   word{"subresources", is::object}, word{"additionalPrinterColumns", is::list},
    word{"selectableFields", is::list}, word{"deprecated", is::truth},    word{"deprecationWarning", is::text}};
constexpr std::array part_words{word{"status", is::object}, word{"scale", is::object}};
constexpr std::array scale_words{word{"specReplicasPath", is::text, true}, word{"statusReplicasPath", is::text, true},
                                 word{"labelSelectorPath", is::text}};
constexpr std::array column_words{word{"name", is::text, true},     word{"type", is::text, true},
                                  word{"jsonPath", is::text, true}, word{"description", is::text},
                                  word{"format", is::text},         word{"priority", is::count}};
constexpr std::array schema_words{word{"type", is::text},
                                  word{"properties", is::object},
                                  word{"items", is::object},
                                  word{"additionalProperties", is::any},
                                  word{"description", is::text},
                                  word{"title", is::text},
                                  word{"format", is::text},
                                  word{"pattern", is::text},
                                  word{"default", is::any},
                                  word{"example", is::any},
                                  word{"externalDocs", is::object},
                                  word{"enum", is::list},
                                  word{"required", is::texts},
                                  word{"nullable", is::truth},
                                  word{"uniqueItems", is::truth},
                                  word{"minimum", is::number},
                                  word{"maximum", is::number},
                                  word{"exclusiveMinimum", is::truth},
                                  word{"exclusiveMaximum", is::truth},
                                  word{"multipleOf", is::number},
                                  word{"minLength", is::count},
                                  word{"maxLength", is::count},
                                  word{"minItems", is::count},
                                  word{"maxItems", is::count},
                                  word{"minProperties", is::count},
                                  word{"maxProperties", is::count},
                                  word{"allOf", is::list},
                                  word{"anyOf", is::list},
                                  word{"oneOf", is::list},
                                  word{"not", is::object},
                                  word{"x-kubernetes-embedded-resource", is::truth},
                                  word{"x-kubernetes-int-or-string", is::truth},
                                  word{"x-kubernetes-list-map-keys", is::texts},
                                  word{"x-kubernetes-list-type", is::text},
                                  word{"x-kubernetes-map-type", is::text},
                                  word{"x-kubernetes-preserve-unknown-fields", is::truth},
                                  word{"x-kubernetes-validations", is::list}};
constexpr std::array type_names{"object", "array", "string", "integer", "number", "boolean"};
constexpr unsigned depth_max = 100;

std::string_view name_of(is type) {
    static constexpr std::array<std::string_view, 8> names{
        "a string", "a list of strings", "true or false", "a number", "an integer", "a list", "an object", ""};
    return names[static_cast<std::size_t>(type)];
}

bool fits(doc::ref value, is type) {
    switch (type) {
        case is::text: return value.is_string();
        case is::texts: return value.is_array() && std::ranges::all_of(value.items(), &doc::ref::is_string);
        case is::truth: return value.is_bool();
        case is::number: return value.is_number();
        case is::count: return value.as_int().has_value();
        case is::list: return value.is_array();
        case is::object: return value.is_object();
        case is::any: return true;
    }
    return true;
}

class looker {
   public:
    explicit looker(bool strict) : strict_(strict) {}

    bool definition(doc::ref of) {
        if (!of.get({"metadata", "name"}).is_string()) return report("metadata.name", crd::fault::required);
        const doc::ref spec = of.get("spec");
        if (!words(spec, spec_words, "spec") || !words(spec.get("names"), names_words, "spec.names")) return false;
        if (const std::string_view scope = spec.get("scope").as_string(); scope != "Namespaced" && scope != "Cluster")
            return report("spec.scope", crd::fault::unsupported,
                          fmt::format("\"{}\": supported values: \"Cluster\", \"Namespaced\"", scope));
        std::size_t stored = 0;
        for (std::size_t i = 0; i < spec.get("versions").size(); ++i) {
            const doc::ref each = spec.get("versions").at(i);
            if (!version(each, fmt::format("spec.versions[{}]", i))) return false;
            stored += each.get("storage").as_bool(false) ? 1 : 0;
        }
        if (stored != 1)
            return report("spec.versions", crd::fault::invalid,
                          "must have exactly one version marked as storage version");
        const std::string name =
            fmt::format("{}.{}", spec.get({"names", "plural"}).as_string(), spec.get("group").as_string());
        if (of.get({"metadata", "name"}).as_string() == name) return true;
        return report("metadata.name", crd::fault::invalid,
                      fmt::format("\"{}\": must be spec.names.plural+\".\"+spec.group",
                                  of.get({"metadata", "name"}).as_string()));
    }

    std::optional<crd::violation> found;

   private:
    bool report(std::string path, crd::fault kind, std::string detail = {}) {
        found = crd::violation{std::move(path), kind, std::move(detail)};
        return false;
    }

    bool words(doc::ref of, std::span<const word> known, const std::string& at) {
        if (!of) return report(at, crd::fault::required);
        if (!of.is_object()) return report(at, crd::fault::invalid, "must be an object");
        for (const doc::member& m : of.members()) {
            const auto one = std::ranges::find(known, m.key(), &word::name);
            const std::string path = fmt::format("{}.{}", at, m.key());
            if (one == known.end() && strict_) return report(path, crd::fault::invalid, "unknown field");
            if (one == known.end()) continue;
            if (!m.value.is_null() && !fits(m.value, one->type))
                return report(path, crd::fault::invalid, fmt::format("must be {}", name_of(one->type)));
        }
        for (const word& each : known) {
            if (each.required && of.get(each.name).is_unset())
                return report(fmt::format("{}.{}", at, each.name), crd::fault::required);
        }
        return true;
    }

    bool version(doc::ref of, const std::string& at) {
        if (!words(of, version_words, at)) return false;
        const doc::ref parts = of.get("subresources");
        if (!parts.is_unset() && !words(parts, part_words, at + ".subresources")) return false;
        if (const doc::ref scale = parts.get("scale");
            !scale.is_unset() && !words(scale, scale_words, at + ".subresources.scale"))
            return false;
        const doc::ref columns = of.get("additionalPrinterColumns");
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (!words(columns.at(i), column_words, fmt::format("{}.additionalPrinterColumns[{}]", at, i)))
                return false;
        }
        const doc::ref whole = of.get({"schema", "openAPIV3Schema"});
        const std::string path = at + ".schema.openAPIV3Schema";
        if (!schema(whole, path, 0)) return false;
        if (whole.get("type").as_string() == "object") return true;
        return report(path + ".type", crd::fault::invalid, "must be object at the root");
    }

    bool schema(doc::ref of, const std::string& at, unsigned depth) {
        if (depth > depth_max) return report(at, crd::fault::invalid, "nested too deeply");
        if (!words(of, schema_words, at)) return false;
        const doc::ref type = of.get("type");
        if (type && !std::ranges::contains(type_names, type.as_string()))
            return report(at + ".type", crd::fault::unsupported, fmt::format("\"{}\"", type.as_string()));
        const bool free = of.get("x-kubernetes-int-or-string").as_bool(false) ||
                          of.get("x-kubernetes-preserve-unknown-fields").as_bool(false);
        if (!type && !free) return report(at + ".type", crd::fault::required, "must not be empty for specified fields");
        for (const doc::member& m : of.get("properties").members()) {
            if (!schema(m.value, fmt::format("{}.properties.{}", at, m.key()), depth + 1)) return false;
        }
        for (const char* each : {"items", "additionalProperties"}) {
            const doc::ref below = of.get(each);
            if (below.is_object() && !schema(below, fmt::format("{}.{}", at, each), depth + 1)) return false;
        }
        return true;
    }

    bool strict_;
};

}  // namespace

std::optional<crd::violation> find_fault(doc::ref definition, bool strict) {
    looker look(strict);
    if (look.definition(definition)) return std::nullopt;
    return look.found;
}

}  // namespace cotrain::sim
