#include "sim/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/encoding.hpp"
#include "crd/node.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::sim {

namespace {

// v2 before v1 before v1beta2 before v1alpha1, others behind them: the first one is preferred.
struct version_order {
    struct rank {
        int stage = 0;  // 3: of no beta or alpha
        int major = 0;
        int minor = 0;
        auto operator<=>(const rank&) const = default;
    };
    static int number(std::string_view& text) {
        int out = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
        if (error != std::errc{}) return 0;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        return out;
    }
    static rank rank_of(std::string_view text) {
        if (!text.starts_with('v')) return {};
        text.remove_prefix(1);
        const int major = number(text);
        const int stage = text.empty() ? 3 : text.starts_with("beta") ? 2 : text.starts_with("alpha") ? 1 : 0;
        if (major == 0 || stage == 0) return {};
        text.remove_prefix(stage == 2 ? 4 : stage == 1 ? 5 : 0);
        return {stage, major, number(text)};
    }
    bool operator()(const std::string& a, const std::string& b) const {
        const rank left = rank_of(a);
        const rank right = rank_of(b);
        return left != right ? left > right : a < b;
    }
};
using version_set = std::set<std::string, version_order>;
using versions = std::map<std::string, version_set>;  // by group

constexpr std::array verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
constexpr std::array status_verbs{"get", "patch", "update"};
constexpr std::array review_verbs{"create"};

void append_texts(doc::editor into, std::string_view name, const auto& texts) {
    if (std::size(texts) == 0) return;
    doc::editor list = into.ensure_array(name);
    for (const auto& each : texts) list.append(std::string_view{each});
}

void append_verbs(doc::editor into, const kind& of) {
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

doc::editor start(doc::arena& memory, std::string_view kind_name, std::string_view api_version) {
    doc::editor out = doc::editor::object(memory);
    out.set("kind", kind_name).set("apiVersion", api_version);
    return out;
}

std::string resource_list(const kinds& types, std::string_view group, std::string_view version) {
    doc::arena memory;
    doc::editor out = start(memory, "APIResourceList", "v1");
    out.set("groupVersion", joined(group, version));
    doc::editor list = out.ensure_array("resources");
    for (const auto& each : types.all()) {
        if (each->group != group || each->version != version) continue;
        doc::editor entry = list.append_object();
        entry.set("name", each->plural).set("singularName", each->singular).set("namespaced", each->namespaced);
        entry.set("kind", each->name);
        append_verbs(entry, *each);
        append_texts(entry, "shortNames", each->short_names);
        append_texts(entry, "categories", each->categories);
        const auto part = [&](std::string_view name) {
            doc::editor out = list.append_object();
            out.set("name", fmt::format("{}/{}", each->plural, name)).set("singularName", "");
            return out.set("namespaced", each->namespaced);
        };
        if (each->scale) {
            doc::editor scale = part("scale");
            scale.set("group", "autoscaling").set("version", "v1").set("kind", "Scale");
            append_texts(scale, "verbs", status_verbs);
        }
        if (!each->has_status) continue;
        doc::editor status = part("status");
        status.set("kind", each->name);
        append_texts(status, "verbs", status_verbs);
    }
    return doc::to_json(out);
}

void fill_group(doc::editor out, const std::string& group, const version_set& all) {
    out.set("name", group);
    for (const std::string& version : all) {
        doc::editor entry = out.ensure_array("versions").append_object();
        entry.set("groupVersion", joined(group, version)).set("version", version);
    }
    doc::editor preferred = out.ensure_object("preferredVersion");
    preferred.set("groupVersion", joined(group, *all.begin())).set("version", *all.begin());
}

std::string group_list(const kinds& types) {
    doc::arena memory;
    doc::editor out = start(memory, "APIGroupList", "v1");
    doc::editor groups = out.ensure_array("groups");
    for (const auto& [group, all] : versions_of(types)) {
        if (!group.empty()) fill_group(groups.append_object(), group, all);
    }
    return doc::to_json(out);
}

void fill_resource(doc::editor out, const kind& of) {
    out.set("resource", of.plural);
    const auto response = [&](doc::editor into) {
        into.ensure_object("responseKind").set("group", of.group).set("version", of.version).set("kind", of.name);
    };
    response(out);
    out.set("scope", of.namespaced ? "Namespaced" : "Cluster").set("singularResource", of.singular);
    append_verbs(out, of);
    append_texts(out, "shortNames", of.short_names);
    append_texts(out, "categories", of.categories);
    if (of.scale) {
        doc::editor scale = out.ensure_array("subresources").append_object();
        scale.set("subresource", "scale");
        scale.ensure_object("responseKind").set("group", "autoscaling").set("version", "v1").set("kind", "Scale");
        append_texts(scale, "verbs", status_verbs);
    }
    if (!of.has_status) return;
    doc::editor status = out.ensure_array("subresources").append_object();
    status.set("subresource", "status");
    response(status);
    append_texts(status, "verbs", status_verbs);
}

// /api holds the core group, /apis the others.
std::string aggregated(const kinds& types, bool core, std::string_view version) {
    doc::arena memory;
    doc::editor out = start(memory, "APIGroupDiscoveryList", fmt::format("apidiscovery.k8s.io/{}", version));
    out.set("metadata", doc::ref::empty_object());
    doc::editor items = out.ensure_array("items");
    for (const auto& [group, all] : versions_of(types)) {
        if (group.empty() != core) continue;
        doc::editor item = items.append_object();
        doc::editor metadata = item.ensure_object("metadata");
        if (!group.empty()) metadata.set("name", group);
        metadata.set("creationTimestamp", nullptr);
        for (const std::string& each : all) {
            doc::editor entry = item.ensure_array("versions").append_object();
            entry.set("version", each);
            for (const auto& k : types.all()) {
                if (k->group == group && k->version == each)
                    fill_resource(entry.ensure_array("resources").append_object(), *k);
            }
            entry.set("freshness", "Current");
        }
    }
    return doc::to_json(out);
}

std::string version_document() {
    return fmt::format(R"({{"major":"1","minor":"{}","gitVersion":"{}","gitCommit":"","gitTreeState":"clean",)"
                       R"("buildDate":"","goVersion":"","compiler":"","platform":"linux/amd64"}})",
                       server_minor, server_version);
}

std::string open_api_index(const kinds& types) {
    doc::arena memory;
    doc::editor out = doc::editor::object(memory);
    doc::editor paths = out.ensure_object("paths");
    for (const auto& [group, all] : versions_of(types)) {
        for (const std::string& version : all) {
            const std::string path = fmt::format("{}/{}", group.empty() ? "api" : "apis", joined(group, version));
            paths.ensure_object(path).set("serverRelativeURL", fmt::format("/openapi/v3/{}?hash=0", path));
        }
    }
    return doc::to_json(out);
}

// What `kubectl explain` reads: a definition's own schema with its descriptions, and metadata spelled out.
doc::editor told_schema(doc::arena& memory, const kind& of) {
    doc::editor known = doc::editor::of(memory, crd::write_schema(memory, *of.merged));
    const auto told = doc::parse_json(memory, of.told_schema);
    if (of.told_schema.empty() || !told) return known;
    doc::editor out = doc::editor::of(memory, *told);
    doc::editor properties = out.ensure_object("properties");
    for (const char* each : {"apiVersion", "kind", "metadata"}) properties.set(each, known.get({"properties", each}));
    return out;
}

// kubectl looks whether a kind can be patched with fieldValidation, and reads schemas for `explain`.
std::string open_api_of(const kinds& types, std::string_view group, std::string_view version) {
    doc::arena memory;
    doc::editor out = doc::editor::object(memory);
    out.set("openapi", "3.0.0");
    out.ensure_object("info").set("title", "Cotrain").set("version", server_version);
    doc::editor paths = out.ensure_object("paths");
    doc::editor schemas = out.ensure_object({"components", "schemas"});
    for (const auto& each : types.all()) {
        if (each->group != group || each->version != version) continue;
        doc::editor named = doc::editor::object(memory);
        named.set("group", each->group).set("kind", each->name).set("version", each->version);
        const doc::ref gvk = deep_copy(memory, named);
        const std::string path =
            fmt::format("/{}/{}{}/{}/{{name}}", group.empty() ? "api" : "apis", joined(group, version),
                        each->namespaced ? "/namespaces/{namespace}" : "", each->plural);
        doc::editor patch = paths.ensure_object(path).ensure_object("patch");
        patch.set("x-kubernetes-action", "patch").set("x-kubernetes-group-version-kind", gvk);
        doc::editor parameter = patch.ensure_array("parameters").append_object();
        parameter.set("name", "fieldValidation").set("in", "query");
        parameter.ensure_object("schema").set("type", "string");
        doc::editor schema = told_schema(memory, *each);
        schema.ensure_array("x-kubernetes-group-version-kind").append(gvk);
        schemas.set(fmt::format("{}.{}.{}", group.empty() ? "core" : group, version, each->name), schema);
    }
    return doc::to_json(out);
}

bool serves(const kinds& types, std::string_view group, std::string_view version) {
    return std::ranges::any_of(types.all(),
                               [&](const auto& each) { return each->group == group && each->version == version; });
}

bool is_health(std::string_view step) { return step == "healthz" || step == "readyz" || step == "livez"; }

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
    // What kubectl asks before it says that a kind is not known, or reads a List: the answer is empty.
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

std::string_view address::get(std::string_view name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::string_view{} : std::string_view{found->second};
}

std::optional<address> read_address(std::string_view target) {
    address out;
    const std::size_t mark = target.find('?');
    std::string_view path = target.substr(0, mark);
    while (!path.empty()) {
        path.remove_prefix(path.front() == '/' ? 1 : 0);
        const std::string_view step = path.substr(0, path.find('/'));
        auto text = base::decode_percent(step);
        if (!text) return std::nullopt;
        if (!text->empty()) out.steps.push_back(std::move(*text));
        path.remove_prefix(step.size());
    }
    std::string_view query = mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(pair.size() + (pair.size() < query.size() ? 1 : 0));
        const std::size_t sign = pair.find('=');
        auto name = base::decode_percent(pair.substr(0, sign), true);
        auto value =
            base::decode_percent(sign == std::string_view::npos ? std::string_view{} : pair.substr(sign + 1), true);
        if (!name || !value) return std::nullopt;
        out.query.emplace(std::move(*name), std::move(*value));
    }
    return out;
}

std::optional<resource_path> read_resource_path(const address& at) {
    const auto& steps = at.steps;
    resource_path out;
    std::size_t next = 0;
    if (steps.size() >= 3 && steps[0] == "api") {
        next = 1;
    } else if (steps.size() >= 4 && steps[0] == "apis") {
        out.group = steps[1];
        next = 2;
    } else {
        return std::nullopt;
    }
    out.version = steps[next++];
    // A namespace itself is an object: /api/v1/namespaces/x, /api/v1/namespaces/x/status.
    const bool inside = steps[next] == "namespaces" && steps.size() > next + 2 && steps[next + 2] != "status" &&
                        steps[next + 2] != "finalize";
    if (inside) {
        out.ns = steps[next + 1];
        next += 2;
    }
    out.plural = steps[next++];
    if (next < steps.size()) out.name = steps[next++];
    if (next < steps.size()) out.sub_resource = steps[next++];
    if (next < steps.size()) return std::nullopt;
    return out;
}

std::optional<document> discover(const kinds& types, const address& at, std::string_view accept) {
    const auto& steps = at.steps;
    if (steps.empty()) return std::nullopt;
    if (steps[0] == "openapi") return open_api(types, at, accept);
    // /readyz/poststarthook/… too.
    if (is_health(steps[0])) return document{"ok", "text/plain"};
    if (steps.size() == 1) {
        if (steps[0] == "version") return document{version_document()};
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
    doc::arena memory;
    doc::editor out = start(memory, "APIGroup", "v1");
    fill_group(out, group->first, group->second);
    return document{doc::to_json(out)};
}

}  // namespace cotrain::sim
