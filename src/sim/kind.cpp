// Finds kinds, and makes them of CustomResourceDefinitions.
#include "sim/kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>
#include <utility>

#include "crd/crd.hpp"
#include "crd/node.hpp"
#include "crd/rules.hpp"
#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

namespace schema = crd;

// The definition's schema with only what api/schema can judge; the rest is noted.
class simplifier {
   public:
    simplifier(doc::arena& memory, std::vector<std::string>& left_out) : memory_(memory), left_out_(left_out) {}

    doc::ref schema(doc::ref from, const std::string& at) {
        doc::editor out = doc::editor::object(memory_);
        for (const doc::member& m : from.members()) keep(out, from, m, at);
        const bool embedded = from.get("x-kubernetes-embedded-resource").as_bool(false);
        // An int-or-string has no type of its own; anything else without a type takes everything.
        if ((!out.contains("type") && !from.get("x-kubernetes-int-or-string").as_bool(false)) || embedded)
            out.set("x-kubernetes-preserve-unknown-fields", true);
        return out;
    }

   private:
    void keep(doc::editor& out, doc::ref from, const doc::member& m, const std::string& at) {
        static constexpr std::array plain{"type",
                                          "default",
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
        static constexpr std::array said_only{"description", "title", "example", "externalDocs",
                                              "x-kubernetes-embedded-resource"};
        const std::string_view key = m.key();
        if (key == "items" || (key == "additionalProperties" && m.value.is_object())) {
            out.set(key, schema(m.value, at + (key == "items" ? "[]" : "{}")));
        } else if (key == "properties") {
            doc::editor below = doc::editor::object(memory_);
            for (const doc::member& p : m.value.members())
                below.set(p.key(), schema(p.value, fmt::format("{}{}{}", at, at.empty() ? "" : ".", p.key())));
            out.set(key, below);
        } else if (key == "required") {
            keep_required(out, from);
        } else if (std::ranges::find(plain, key) != plain.end() || is_judged(m)) {
            out.set(key, m.value);
        } else if (key == "x-kubernetes-validations") {
            keep_rules(out, m.value, at);
        } else if (std::ranges::find(said_only, key) == said_only.end() && !is_int_or_string(m)) {
            leave_out(at, key, m.value.is_string() ? std::string{m.value.text()} : doc::to_json(m.value));
        }
    }

    static bool is_judged(const doc::member& m) {
        const std::string_view key = m.key();
        if (key == "enum") return std::ranges::all_of(m.value.items(), &doc::ref::is_string);
        if (key == "minimum" || key == "maximum") return m.value.as_int().has_value();
        if (key == "format") return is_known_format(m.value.as_string());
        return key == "pattern" && schema::find_pattern(m.value.as_string()) != nullptr;
    }

    static bool is_int_or_string(const doc::member& m) {
        return m.key() == "anyOf" && doc::to_json(m.value) == R"([{"type":"integer"},{"type":"string"}])";
    }

    static bool is_known_format(std::string_view format) {
        return format == "int32" || format == "int64" || format == "date-time";
    }

    // Names of no property too can be required; such are not looked for.
    void keep_required(doc::editor& out, doc::ref from) {
        doc::editor kept = doc::editor::array(memory_);
        for (const doc::ref name : from.get("required").items()) {
            if (from.get("properties").contains(name.as_string())) kept.append(name);
        }
        if (kept.size() > 0) out.set("required", kept);
    }

    void keep_rules(doc::editor& out, doc::ref rules, const std::string& at) {
        doc::editor kept = doc::editor::array(memory_);
        for (const doc::ref rule : rules.items()) {
            if (schema::find_rule(rule.get("rule").as_string()) == nullptr) {
                leave_out(at, "rule", rule.get("rule").as_string());
                continue;
            }
            doc::editor copy = kept.append_object();
            copy.set("rule", rule.get("rule"));
            if (rule.get("message").is_string()) copy.set("message", rule.get("message"));
        }
        if (kept.size() > 0) out.set("x-kubernetes-validations", kept);
    }

    void leave_out(const std::string& at, std::string_view what, std::string_view text) {
        left_out_.push_back(
            fmt::format("{}: {} {}", at.empty() ? "(the object)" : at, what, base::one_line(text, 120)));
    }

    doc::arena& memory_;
    std::vector<std::string>& left_out_;
};

std::vector<std::string> texts(doc::ref list) {
    std::vector<std::string> out;
    for (const doc::ref text : list.items()) out.emplace_back(text.as_string());
    return out;
}

std::unexpected<base::error> refuse(std::string_view name, std::string_view what) {
    return base::fail(base::errc::invalid, "CustomResourceDefinition " + std::string{name} + ": " + std::string{what});
}

std::string lower(std::string_view text) {
    std::string out{text};
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
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

static kind make_version(doc::ref spec, doc::ref version) {
    const doc::ref names = spec.get("names");
    kind out;
    out.group = spec.get("group").as_string();
    out.version = version.get("name").as_string();
    out.plural = names.get("plural").as_string();
    out.name = names.get("kind").as_string();
    out.singular = names.get("singular").as_string(lower(out.name));
    out.list_name = names.get("listKind").as_string(out.name + "List");
    out.short_names = texts(names.get("shortNames"));
    out.categories = texts(names.get("categories"));
    out.namespaced = spec.get("scope").as_string() == "Namespaced";
    out.custom = out.has_generation = true;
    out.has_status = version.get({"subresources", "status"}).is_object();
    if (const doc::ref scale = version.get({"subresources", "scale"})) {
        out.scale = {std::string{scale.get("specReplicasPath").as_string()},
                     std::string{scale.get("statusReplicasPath").as_string()},
                     std::string{scale.get("labelSelectorPath").as_string()}};
    }
    for (const doc::ref each : version.get("selectableFields").items())
        out.selectable.emplace_back(each.get("jsonPath").as_string().substr(1));
    for (const doc::ref each : version.get("additionalPrinterColumns").items()) {
        out.columns.push_back({std::string{each.get("name").as_string()}, std::string{each.get("type").as_string()},
                               std::string{each.get("jsonPath").as_string()},
                               static_cast<int>(each.get("priority").as_int(0)),
                               std::string{each.get("description").as_string()}});
    }
    return out;
}

base::result<const kind*> kinds::define(doc::ref definition) {
    const std::string_view name = definition.get({"metadata", "name"}).as_string();
    const doc::ref spec = definition.get("spec");
    std::vector<doc::ref> versions;  // the one that is stored first
    for (const doc::ref each : spec.get("versions").items()) {
        if (each.get("storage").as_bool(false)) {
            versions.insert(versions.begin(), each);
        } else if (each.get("served").as_bool(false)) {
            versions.push_back(each);
        }
    }
    std::vector<kind> made;
    for (const doc::ref version : versions) {
        const doc::ref whole = version.get({"schema", "openAPIV3Schema"});
        if (!whole.is_object())
            return refuse(name, fmt::format("spec.versions: {} has no schema", version.get("name").as_string()));
        kind out = make_version(spec, version);
        doc::arena memory;
        auto read = schema::read_schema(simplifier(memory, out.unjudged).schema(whole, {}));
        if (!read) return refuse(name, read.error().message);
        out.told_schema = doc::to_json(whole);
        out.merged = with_object_meta(*read);
        out.body = std::make_shared<const schema::node>(std::move(*read));
        made.push_back(std::move(out));
    }
    if (made.empty() || !versions[0].get("storage").as_bool(false))
        return refuse(name, "spec.versions: one has to be the one that is stored");
    const auto stored = settle(name, std::move(made[0]));
    if (!stored || !was_defined(**stored)) return stored;
    for (kind& other : made | std::views::drop(1)) {
        other.home = *stored;
        if (auto done = settle(name, std::move(other)); !done) return done;
    }
    withdraw_versions(**stored, spec);
    return stored;
}

// What was served of it and is so no more.
void kinds::withdraw_versions(const kind& stored, doc::ref spec) {
    const auto gone = [&](const std::unique_ptr<kind>& each) {
        return each->home == &stored &&
               !spec.get("versions").find_by("name", each->version).get("served").as_bool(false);
    };
    const auto rest = std::ranges::stable_partition(all_, std::not_fn(gone));
    for (std::unique_ptr<kind>& each : rest) withdrawn_.push_back(std::move(each));
    all_.erase(rest.begin(), rest.end());
}

base::result<const kind*> kinds::settle(std::string_view name, kind made) {
    if (name != made.resource()) return refuse(name, "metadata.name must be spec.names.plural+\".\"+spec.group");
    const auto same = [&](const auto& each) { return each->group == made.group && each->plural == made.plural; };
    const auto same_version = [&](const auto& each) { return same(each) && each->version == made.version; };
    const auto first = std::ranges::find_if(all_, same);
    if (first != all_.end() && !was_defined(**first)) return first->get();
    if (first != all_.end() && made.home == nullptr && !is_same_kind((*first)->kept(), made))
        return refuse(name, "the version that is stored, the scope and the kind stay what they were on this server");
    if (const auto known = std::ranges::find_if(all_, same_version); known != all_.end()) {
        **known = std::move(made);
        return known->get();
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
    const kind* stored = nullptr;
    for (std::unique_ptr<kind>& each : all_) {
        if (!was_defined(*each) || each->group != spec.get("group").as_string() ||
            each->plural != spec.get({"names", "plural"}).as_string())
            continue;
        if (each->home == nullptr) stored = each.get();
        withdrawn_.push_back(std::move(each));
    }
    std::erase(all_, nullptr);
    return stored;
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
