// Finds kinds, and makes them of CustomResourceDefinitions.
#include "sim/kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "crd/crd.hpp"
#include "crd/node.hpp"
#include "crd/rules.hpp"
#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

namespace schema = crd;

// The definition's schema with only what api/schema can judge.
class simplifier {
   public:
    explicit simplifier(doc::arena& memory) : memory_(memory) {}

    doc::ref schema(doc::ref from) {
        doc::editor out = doc::editor::object(memory_);
        for (const doc::member& m : from.members()) keep(out, m);
        // An int-or-string has no type of its own; anything else without a type takes everything.
        if (!out.contains("type") && !from.get("x-kubernetes-int-or-string").as_bool(false))
            out.set("x-kubernetes-preserve-unknown-fields", true);
        return out;
    }

   private:
    void keep(doc::editor& out, const doc::member& m) {
        static constexpr std::array plain{"type",
                                          "default",
                                          "required",
                                          "nullable",
                                          "minLength",
                                          "maxLength",
                                          "minItems",
                                          "maxItems",
                                          "minProperties",
                                          "maxProperties",
                                          "x-kubernetes-list-type",
                                          "x-kubernetes-list-map-keys",
                                          "x-kubernetes-map-type",
                                          "x-kubernetes-int-or-string",
                                          "x-kubernetes-preserve-unknown-fields"};
        const std::string_view key = m.key();
        if (key == "items" || (key == "additionalProperties" && m.value.is_object())) {
            out.set(key, schema(m.value));
        } else if (key == "properties") {
            doc::editor below = doc::editor::object(memory_);
            for (const doc::member& p : m.value.members()) below.set(p.key(), schema(p.value));
            out.set(key, below);
        } else if (std::ranges::find(plain, key) != plain.end()) {
            out.set(key, m.value);
        } else if (key == "enum" && std::ranges::all_of(m.value.items(), &doc::ref::is_string)) {
            out.set(key, m.value);
        } else if ((key == "minimum" || key == "maximum") && m.value.as_int()) {
            out.set(key, m.value);
        } else if (key == "format" && is_known_format(m.value.as_string())) {
            out.set(key, m.value);
        } else if (key == "pattern" && schema::find_pattern(m.value.as_string()) != nullptr) {
            out.set(key, m.value);
        } else if (key == "x-kubernetes-validations") {
            keep_rules(out, m.value);
        }
    }

    static bool is_known_format(std::string_view format) {
        return format == "int32" || format == "int64" || format == "date-time";
    }

    void keep_rules(doc::editor& out, doc::ref rules) {
        doc::editor kept = doc::editor::array(memory_);
        for (const doc::ref rule : rules.items()) {
            if (schema::find_rule(rule.get("rule").as_string()) == nullptr) continue;
            doc::editor copy = kept.append_object();
            copy.set("rule", rule.get("rule"));
            if (rule.get("message").is_string()) copy.set("message", rule.get("message"));
        }
        if (kept.size() > 0) out.set("x-kubernetes-validations", kept);
    }

    doc::arena& memory_;
};

std::vector<std::string> texts(doc::ref list) {
    std::vector<std::string> out;
    for (const doc::ref text : list.items()) out.emplace_back(text.as_string());
    return out;
}

std::unexpected<base::error> refuse(std::string_view name, std::string_view what) {
    return base::fail(base::errc::invalid, "CustomResourceDefinition " + std::string{name} + ": " + std::string{what});
}

bool was_defined(const kind& what) { return !what.told_schema.empty(); }

// Objects that are stored as one are read as the other.
bool is_same_kind(const kind& a, const kind& b) {
    return a.version == b.version && a.name == b.name && a.namespaced == b.namespaced;
}

}  // namespace

schema::shared_node with_object_meta(const schema::node& body) {
    schema::node out = body;
    std::erase_if(out.properties, [](const schema::property& p) { return p.name == "metadata"; });
    out.properties.push_back({"metadata", object_meta()});
    for (const char* name : {"apiVersion", "kind"}) {
        if (out.find(name) != nullptr) continue;
        out.properties.push_back(
            {name, std::make_shared<schema::node>(schema::node{.type = schema::value_type::string})});
    }
    return std::make_shared<const schema::node>(std::move(out));
}

kinds::kinds() {
    for (kind& each : built_in_kinds()) all_.push_back(std::make_unique<kind>(std::move(each)));
}

base::result<const kind*> kinds::define(doc::ref definition) {
    const std::string_view name = definition.get({"metadata", "name"}).as_string();
    const doc::ref spec = definition.get("spec");
    const doc::ref names = spec.get("names");
    doc::ref version;
    for (const doc::ref each : spec.get("versions").items()) {
        if (each.get("storage").as_bool(false)) version = each;
    }
    const doc::ref whole = version.get({"schema", "openAPIV3Schema"});
    if (!whole.is_object()) return refuse(name, "spec.versions: the stored one has no schema");
    doc::arena memory;
    auto read = schema::read_schema(simplifier(memory).schema(whole));
    if (!read) return refuse(name, read.error().message);

    kind out;
    out.group = spec.get("group").as_string();
    out.version = version.get("name").as_string();
    out.plural = names.get("plural").as_string();
    out.singular = names.get("singular").as_string();
    out.name = names.get("kind").as_string();
    out.list_name = names.get("listKind").as_string(out.name + "List");
    out.short_names = texts(names.get("shortNames"));
    out.categories = texts(names.get("categories"));
    out.namespaced = spec.get("scope").as_string() == "Namespaced";
    out.custom = out.has_generation = true;
    out.has_status = version.get({"subresources", "status"}).is_object();
    for (const doc::ref each : version.get("additionalPrinterColumns").items()) {
        out.columns.push_back({std::string{each.get("name").as_string()}, std::string{each.get("type").as_string()},
                               std::string{each.get("jsonPath").as_string()},
                               static_cast<int>(each.get("priority").as_int(0)),
                               std::string{each.get("description").as_string()}});
    }
    out.told_schema = doc::to_json(whole);
    out.merged = with_object_meta(*read);
    out.body = std::make_shared<const schema::node>(std::move(*read));
    return settle(name, std::move(out));
}

base::result<const kind*> kinds::settle(std::string_view name, kind made) {
    if (name != made.resource()) return refuse(name, "metadata.name must be spec.names.plural+\".\"+spec.group");
    const auto same = [&](const auto& each) { return each->group == made.group && each->plural == made.plural; };
    if (const auto known = std::ranges::find_if(all_, same); known != all_.end()) {
        kind& before = **known;
        if (!was_defined(before)) return &before;
        if (!is_same_kind(before, made))
            return refuse(name,
                          "the version that is stored, the scope and the kind stay what they were on this server");
        before = std::move(made);
        return &before;
    }
    const auto once =
        std::ranges::find_if(withdrawn_, [&](const auto& each) { return same(each) && is_same_kind(*each, made); });
    if (once == withdrawn_.end()) return add(std::move(made));
    **once = std::move(made);
    all_.push_back(std::move(*once));
    withdrawn_.erase(once);
    return all_.back().get();
}

const kind* kinds::withdraw(doc::ref definition) {
    const doc::ref spec = definition.get("spec");
    const auto found = std::ranges::find_if(all_, [&](const auto& each) {
        return was_defined(*each) && each->group == spec.get("group").as_string() &&
               each->plural == spec.get({"names", "plural"}).as_string();
    });
    if (found == all_.end()) return nullptr;
    withdrawn_.push_back(std::move(*found));
    all_.erase(found);
    return withdrawn_.back().get();
}

const kind* kinds::add(kind made) {
    all_.push_back(std::make_unique<kind>(std::move(made)));
    return all_.back().get();
}

const kind* kinds::find(std::string_view group, std::string_view version, std::string_view plural) const {
    for (const auto& each : all_) {
        if (each->plural == plural && each->group == group && each->version == version) return each.get();
    }
    return nullptr;
}

const kind* kinds::find(std::string_view api_version, std::string_view name) const {
    for (const auto& each : all_) {
        if (each->name == name && each->api_version() == api_version) return each.get();
    }
    return nullptr;
}

}  // namespace cotrain::sim
