// Keeps of published types what custom resources can use: no descriptions, patch strategies or enums of core types.
#include "import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <vector>

#include "crd/rules.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/tree.hpp"

namespace cotrain::crdgen {
namespace {

using doc::arena;
using doc::editor;
using doc::member;
using doc::ref;

// The types that src/crd embeds by name; those they need come along.
constexpr std::array<std::string_view, 13> roots{
    "io.k8s.api.core.v1.EnvVar",
    "io.k8s.api.core.v1.LocalObjectReference",
    "io.k8s.api.core.v1.ResourceRequirements",
    "io.k8s.api.core.v1.Volume",
    "io.k8s.api.core.v1.VolumeMount",
    "io.k8s.api.core.v1.SecurityContext",
    "io.k8s.api.core.v1.PodSecurityContext",
    "io.k8s.api.core.v1.Affinity",
    "io.k8s.api.core.v1.Toleration",
    "io.k8s.api.core.v1.PodSchedulingGate",
    "io.k8s.api.core.v1.PersistentVolumeClaim",
    "io.k8s.api.batch.v1.JobTemplateSpec",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
};

std::string_view short_name(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// In templates metadata is what users may give; the API server owns the rest.
constexpr std::string_view template_metadata =
    R"({"type":"object","properties":{"annotations":{"additionalProperties":{"type":"string"},"type":"object"},)"
    R"("finalizers":{"items":{"type":"string"},"type":"array"},)"
    R"("labels":{"additionalProperties":{"type":"string"},"type":"object"},)"
    R"("name":{"type":"string"},"namespace":{"type":"string"}}})";

// OpenAPI shows neither that these are replaced as a whole, because they embed a reference that is…
constexpr std::array<std::string_view, 5> atomic_types{
    "ConfigMapVolumeSource", "ConfigMapProjection", "SecretProjection", "ConfigMapEnvSource", "SecretEnvSource",
};
// …nor that these fields have no default in custom resources: there it is the API server's Go code that fills them in.
struct member_of {
    std::string_view type;
    std::string_view name;
};
constexpr std::array<member_of, 3> without_default{{
    {"AzureDiskVolumeSource", "cachingMode"},
    {"AzureDiskVolumeSource", "kind"},
    {"PodFailurePolicyOnPodConditionsPattern", "status"},
}};

class importer {
   public:
    explicit importer(arena& memory) : memory_(memory) {}

    base::result<> add_source(std::string_view text, std::string_view what) {
        auto document = doc::parse_json(memory_, text);
        if (!document) return std::unexpected(std::move(document.error()).during(what));
        const ref schemas = document->get({"components", "schemas"});
        if (!schemas) return base::fail(base::errc::invalid, fmt::format("{}: no components.schemas", what));
        sources_.push_back(schemas);
        return {};
    }

    base::result<std::string> run() {
        for (const std::string_view root : roots) wanted_.push_back(root);
        const ref job_set = find("io.x-k8s.jobset.v1alpha2.JobSet").get({"properties", "spec"});
        if (!job_set) return base::fail(base::errc::invalid, "the JobSet document has no spec");
        out_["JobSetSpec"] = convert_job_set(job_set);
        while (!wanted_.empty()) {
            const std::string_view name = wanted_.back();
            wanted_.pop_back();
            const std::string key{short_name(name)};
            if (out_.contains(key)) continue;
            const ref definition = find(name);
            if (!definition) return base::fail(base::errc::invalid, fmt::format("no document has the type {}", name));
            if (key == "ObjectMeta") {
                out_[key] = doc::parse_json(memory_, template_metadata).value_or(ref{});
            } else {
                out_[key] = correct(key, convert(definition, origin::core));
            }
        }
        return layout();
    }

   private:
    // Core types carry defaults of fields that must be given anyhow, and enums that their validation repeats.
    enum class origin : bool { core, custom };

    [[nodiscard]] ref find(std::string_view name) const {
        for (const ref source : sources_) {
            if (const ref found = source.get(name)) return found;
        }
        return {};
    }

    ref correct(std::string_view type, ref definition) {
        editor out = editor::of(memory_, definition);
        if (std::ranges::contains(atomic_types, type)) out.set("x-kubernetes-map-type", "atomic");
        for (const member_of& m : without_default) {
            if (m.type == type) out.child({"properties", m.name}).remove("default");
        }
        return out.view();
    }

    ref convert_job_set(ref spec) {
        editor out = editor::of(memory_, convert(spec, origin::custom));
        replace(out, {"properties", "replicatedJobs", "items", "properties"}, "template", "JobTemplateSpec");
        replace(out, {"properties", "volumeClaimPolicies", "items", "properties", "templates"}, "items",
                "PersistentVolumeClaim");
        return out.view();
    }

    static void replace(editor& out, std::initializer_list<std::string_view> path, std::string_view key,
                        std::string_view type) {
        editor below = out.child(path);
        below.remove(key);
        below.ensure_object(key).set("$ref", type);
    }

    ref convert(ref schema, origin from) {
        const ref only = schema.get("allOf").at(0);
        if (const ref target = (only ? only : schema).get("$ref")) return convert_reference(schema, target, from);
        editor out = editor::object(memory_);
        for (const member& m : schema.members()) convert_keyword(out, schema, m, from);
        return out.view();
    }

    ref convert_reference(ref schema, ref target, origin from) {
        constexpr std::string_view prefix = "#/components/schemas/";
        const std::string_view name = target.as_string().substr(prefix.size());
        editor out = editor::object(memory_);
        if (name.ends_with(".Quantity") || name.ends_with(".IntOrString")) {
            editor either = out.ensure_array("anyOf");
            either.append_object().set("type", "integer");
            either.append_object().set("type", "string");
            out.set("x-kubernetes-int-or-string", true);
            if (name.ends_with(".Quantity")) out.set("pattern", crd::quantity_pattern);
        } else if (name.ends_with(".Time") || name.ends_with(".MicroTime")) {
            out.set("type", "string").set("format", "date-time");
        } else {
            out.set("$ref", short_name(name));
            wanted_.push_back(name);
        }
        if (const ref value = schema.get("default"); value && !value.is_object()) keep_default(out, value, from);
        return out.view();
    }

    void convert_keyword(editor& out, ref schema, const member& m, origin from) {
        const std::string_view key = m.key();
        if (key == "properties") {
            editor properties = out.ensure_object("properties");
            for (const member& p : m.value.members()) {
                editor property = editor::of(memory_, convert(p.value, from));
                if (from == origin::core && is_required(schema, p.key())) property.remove("default");
                properties.set(p.key(), property.view());
            }
        } else if (key == "items") {
            editor item = editor::of(memory_, convert(m.value, from));
            if (from == origin::core) item.remove("default");
            out.set(key, item.view());
        } else if (key == "additionalProperties") {
            editor value = editor::of(memory_, convert(m.value, from));
            if (from == origin::core) value.remove("default");
            out.set(key, value.view());
        } else if (key == "default") {
            keep_default(out, m.value, from);
        } else if (keeps(key, from)) {
            out.set(key, m.value);
        }
    }

    static void keep_default(editor& out, ref value, origin from) {
        if (from == origin::custom || !value.is_object()) out.set("default", value);
    }

    static bool is_required(ref schema, std::string_view name) {
        for (const ref required : schema.get("required").items()) {
            if (required.as_string() == name) return true;
        }
        return false;
    }

    static bool keeps(std::string_view key, origin from) {
        static constexpr std::array<std::string_view, 6> always{
            "type",     "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
            "required",
        };
        for (const std::string_view kept : always) {
            if (kept == key) return true;
        }
        // Whatever else a custom resource's definition says is a constraint.
        return from == origin::custom && key != "description";
    }

    std::string layout() const {
        std::string text = "R\"json({\n";
        std::string_view separator;
        for (const auto& [name, definition] : out_) {
            fmt::format_to(std::back_inserter(text), "{}\"{}\":", separator, name);
            doc::append_sorted_json(text, definition);
            separator = ",\n";
        }
        return text + "\n})json\"\n";
    }

    arena& memory_;
    std::vector<ref> sources_;
    std::vector<std::string_view> wanted_;
    std::map<std::string, ref, std::less<>> out_;
};

}  // namespace

base::result<std::string> import_types(const published& documents) {
    arena memory;
    importer run(memory);
    if (auto added = run.add_source(documents.core, "api/v1"); !added) return std::unexpected(added.error());
    if (auto added = run.add_source(documents.batch, "batch/v1"); !added) return std::unexpected(added.error());
    if (auto added = run.add_source(documents.job_set, "jobset"); !added) return std::unexpected(added.error());
    return run.run();
}

}  // namespace cotrain::crdgen
