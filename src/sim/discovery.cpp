// Writes discovery documents.
#include "sim/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "api/schema/write.hpp"

namespace cotrain::sim {
namespace {

using versions = std::map<std::string, std::set<std::string>>;  // by group

constexpr std::array verbs{"create", "delete", "get", "list", "patch", "update", "watch"};
constexpr std::array status_verbs{"get", "patch", "update"};
constexpr std::array review_verbs{"create"};

void append_texts(api::editor into, std::string_view name, const auto& texts) {
    if (std::size(texts) == 0) return;
    api::editor list = into.ensure_array(name);
    for (const auto& each : texts) list.append(std::string_view{each});
}

void append_verbs(api::editor into, const kind& of) {
    if (of.answer != nullptr) {
        append_texts(into, "verbs", review_verbs);
    } else {
        append_texts(into, "verbs", verbs);
    }
}

versions versions_of(const kinds& types) {
    versions out;
    for (const auto& each : types.all()) out[each->group].insert(each->version);
    return out;
}

std::string joined(std::string_view group, std::string_view version) {
    return group.empty() ? std::string{version} : fmt::format("{}/{}", group, version);
}

api::editor start(api::arena& memory, std::string_view kind_name, std::string_view api_version) {
    api::editor out = api::editor::object(memory);
    out.set("kind", kind_name).set("apiVersion", api_version);
    return out;
}

std::string resource_list(const kinds& types, std::string_view group, std::string_view version) {
    api::arena memory;
    api::editor out = start(memory, "APIResourceList", "v1");
    out.set("groupVersion", joined(group, version));
    api::editor list = out.ensure_array("resources");
    for (const auto& each : types.all()) {
        if (each->group != group || each->version != version) continue;
        api::editor entry = list.append_object();
        entry.set("name", each->plural).set("singularName", each->singular).set("namespaced", each->namespaced);
        entry.set("kind", each->name);
        append_verbs(entry, *each);
        append_texts(entry, "shortNames", each->short_names);
        append_texts(entry, "categories", each->categories);
        if (!each->has_status) continue;
        api::editor status = list.append_object();
        status.set("name", each->plural + "/status").set("singularName", "").set("namespaced", each->namespaced);
        status.set("kind", each->name);
        append_texts(status, "verbs", status_verbs);
    }
    return api::to_json(out);
}

void fill_group(api::editor out, const std::string& group, const std::set<std::string>& all) {
    out.set("name", group);
    for (const std::string& version : all) {
        api::editor entry = out.ensure_array("versions").append_object();
        entry.set("groupVersion", joined(group, version)).set("version", version);
    }
    api::editor preferred = out.ensure_object("preferredVersion");
    preferred.set("groupVersion", joined(group, *all.begin())).set("version", *all.begin());
}

std::string group_list(const kinds& types) {
    api::arena memory;
    api::editor out = start(memory, "APIGroupList", "v1");
    api::editor groups = out.ensure_array("groups");
    for (const auto& [group, all] : versions_of(types)) {
        if (!group.empty()) fill_group(groups.append_object(), group, all);
    }
    return api::to_json(out);
}

void fill_resource(api::editor out, const kind& of) {
    out.set("resource", of.plural);
    const auto response = [&](api::editor into) {
        into.ensure_object("responseKind").set("group", of.group).set("version", of.version).set("kind", of.name);
    };
    response(out);
    out.set("scope", of.namespaced ? "Namespaced" : "Cluster").set("singularResource", of.singular);
    append_verbs(out, of);
    append_texts(out, "shortNames", of.short_names);
    append_texts(out, "categories", of.categories);
    if (!of.has_status) return;
    api::editor status = out.ensure_array("subresources").append_object();
    status.set("subresource", "status");
    response(status);
    append_texts(status, "verbs", status_verbs);
}

// /api holds the core group, /apis the others.
std::string aggregated(const kinds& types, bool core, std::string_view version) {
    api::arena memory;
    api::editor out = start(memory, "APIGroupDiscoveryList", fmt::format("apidiscovery.k8s.io/{}", version));
    out.set("metadata", api::ref::empty_object());
    api::editor items = out.ensure_array("items");
    for (const auto& [group, all] : versions_of(types)) {
        if (group.empty() != core) continue;
        api::editor item = items.append_object();
        api::editor metadata = item.ensure_object("metadata");
        if (!group.empty()) metadata.set("name", group);
        metadata.set("creationTimestamp", nullptr);
        for (const std::string& each : all) {
            api::editor entry = item.ensure_array("versions").append_object();
            entry.set("version", each);
            for (const auto& k : types.all()) {
                if (k->group == group && k->version == each)
                    fill_resource(entry.ensure_array("resources").append_object(), *k);
            }
            entry.set("freshness", "Current");
        }
    }
    return api::to_json(out);
}

std::string version_document() {
    return fmt::format(R"({{"major":"1","minor":"{}","gitVersion":"{}","gitCommit":"","gitTreeState":"clean",)"
                       R"("buildDate":"","goVersion":"","compiler":"","platform":"linux/amd64"}})",
                       server_minor, server_version);
}

std::string open_api_index(const kinds& types) {
    api::arena memory;
    api::editor out = api::editor::object(memory);
    api::editor paths = out.ensure_object("paths");
    for (const auto& [group, all] : versions_of(types)) {
        for (const std::string& version : all) {
            const std::string path = fmt::format("{}/{}", group.empty() ? "api" : "apis", joined(group, version));
            paths.ensure_object(path).set("serverRelativeURL", fmt::format("/openapi/v3/{}?hash=0", path));
        }
    }
    return api::to_json(out);
}

// What `kubectl explain` reads: a definition's own schema with its descriptions, and metadata spelled out.
api::editor told_schema(api::arena& memory, const kind& of) {
    api::editor known = api::editor::of(memory, api::schema::write_schema(memory, *of.merged));
    const auto told = api::parse_json(memory, of.told_schema);
    if (of.told_schema.empty() || !told) return known;
    api::editor out = api::editor::of(memory, *told);
    api::editor properties = out.ensure_object("properties");
    for (const char* each : {"apiVersion", "kind", "metadata"}) properties.set(each, known.get({"properties", each}));
    return out;
}

// kubectl looks whether a kind can be patched with fieldValidation, and reads schemas for `explain`.
std::string open_api_of(const kinds& types, std::string_view group, std::string_view version) {
    api::arena memory;
    api::editor out = api::editor::object(memory);
    out.set("openapi", "3.0.0");
    out.ensure_object("info").set("title", "Cotrain").set("version", server_version);
    api::editor paths = out.ensure_object("paths");
    api::editor schemas = out.ensure_object({"components", "schemas"});
    for (const auto& each : types.all()) {
        if (each->group != group || each->version != version) continue;
        api::editor named = api::editor::object(memory);
        named.set("group", each->group).set("kind", each->name).set("version", each->version);
        const api::ref gvk = deep_copy(memory, named);
        const std::string path =
            fmt::format("/{}/{}{}/{}/{{name}}", group.empty() ? "api" : "apis", joined(group, version),
                        each->namespaced ? "/namespaces/{namespace}" : "", each->plural);
        api::editor patch = paths.ensure_object(path).ensure_object("patch");
        patch.set("x-kubernetes-action", "patch").set("x-kubernetes-group-version-kind", gvk);
        api::editor parameter = patch.ensure_array("parameters").append_object();
        parameter.set("name", "fieldValidation").set("in", "query");
        parameter.ensure_object("schema").set("type", "string");
        api::editor schema = told_schema(memory, *each);
        schema.ensure_array("x-kubernetes-group-version-kind").append(gvk);
        schemas.set(fmt::format("{}.{}.{}", group.empty() ? "core" : group, version, each->name), schema);
    }
    return api::to_json(out);
}

bool serves(const kinds& types, std::string_view group, std::string_view version) {
    return std::ranges::any_of(types.all(),
                               [&](const auto& each) { return each->group == group && each->version == version; });
}

std::optional<document> roots(const kinds& types, const address& at, std::string_view accept) {
    const bool core = at.steps[0] == "api";
    for (const std::string_view version : {"v2", "v2beta1"}) {
        const std::string wish = fmt::format("g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList", version);
        if (accept.find(wish) != std::string_view::npos)
            return document{aggregated(types, core, version), "application/json;" + wish};
    }
    if (core) return document{R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]})"};
    return document{group_list(types)};
}

std::optional<document> open_api(const kinds& types, const address& at, std::string_view accept) {
    const auto& steps = at.steps;
    // What kubectl asks before it says that a kind is not known, or reads a List: nothing is told there.
    if (steps.size() == 2 && steps[1] == "v2") {
        // The type that is asked for is none that can be parsed.
        if (accept.contains("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"))
            return document{{}, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"};
        return document{R"({"swagger":"2.0","info":{"title":"Cotrain","version":""},"paths":{},"definitions":{}})"};
    }
    if (steps.size() < 2 || steps[1] != "v3") return std::nullopt;
    if (steps.size() == 2) return document{open_api_index(types)};
    const bool core = steps[2] == "api";
    if (steps.size() != (core ? 4U : 5U)) return std::nullopt;
    const std::string_view group = core ? std::string_view{} : std::string_view{steps[3]};
    if (!serves(types, group, steps.back())) return std::nullopt;
    return document{open_api_of(types, group, steps.back())};
}

}  // namespace

std::optional<document> discover(const kinds& types, const address& at, std::string_view accept) {
    const auto& steps = at.steps;
    if (steps.empty()) return std::nullopt;
    if (steps[0] == "openapi") return open_api(types, at, accept);
    if (steps.size() == 1) {
        if (steps[0] == "version") return document{version_document()};
        if (steps[0] == "healthz" || steps[0] == "readyz" || steps[0] == "livez") return document{"ok", "text/plain"};
        if (steps[0] == "api" || steps[0] == "apis") return roots(types, at, accept);
        return std::nullopt;
    }
    if (steps[0] == "api" && steps.size() == 2 && steps[1] == "v1") return document{resource_list(types, "", "v1")};
    if (steps[0] != "apis" || steps.size() > 3) return std::nullopt;
    const versions all = versions_of(types);
    const auto group = all.find(steps[1]);
    if (group == all.end() || group->first.empty()) return std::nullopt;
    if (steps.size() == 3) {
        if (!group->second.contains(steps[2])) return std::nullopt;
        return document{resource_list(types, steps[1], steps[2])};
    }
    api::arena memory;
    api::editor out = start(memory, "APIGroup", "v1");
    fill_group(out, group->first, group->second);
    return document{api::to_json(out)};
}

}  // namespace cotrain::sim
