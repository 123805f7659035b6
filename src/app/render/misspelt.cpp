#include "app/render/misspelt.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "api/names.hpp"
#include "app/nearest.hpp"
#include "base/error.hpp"
#include "crd/check.hpp"
#include "crd/crd.hpp"
#include "crd/metadata.hpp"

namespace cotrain::app {

namespace {

namespace names = api::names;

constexpr std::size_t shown_bytes_max = 100;

// The member of an object's type that `path` begins with; cuts it off there. Names may have dots.
const crd::node* step(const crd::node& type, std::string_view& path) {
    if (path.starts_with('[')) {
        path.remove_prefix(std::min(path.size(), path.find(']') + 1));
        return type.items.get();
    }
    for (const crd::property& p : type.properties) {
        if (!path.starts_with(p.name) || path.size() == p.name.size()) continue;
        if (path[p.name.size()] != '.' && path[p.name.size()] != '[') continue;
        path.remove_prefix(p.name.size());
        return p.value.get();
    }
    if (!type.values) return nullptr;
    path.remove_prefix(std::min(path.size(), path.find_first_of(".[")));
    return type.values.get();
}

std::vector<std::string_view> names_of(const crd::node& type) {
    std::vector<std::string_view> out;
    for (const crd::property& p : type.properties) out.push_back(p.name);
    return out;
}

// A field that is known by that name one object further down: spec.numNodes is spec.trainer.numNodes.
std::string below(const crd::node& type, std::string_view name) {
    for (const crd::property& p : type.properties)
        if (p.value->find(name) != nullptr) return "; did you mean \"" + p.name + "." + std::string(name) + "\"?";
    return {};
}

std::string no_matches(std::string_view kind, std::string_view version) {
    return "no matches for kind \"" + base::one_line(kind, shown_bytes_max) + "\" in version \"" +
           base::one_line(version, shown_bytes_max) + "\"";
}

}  // namespace

std::string meant_field(const crd::node& type, std::string_view path) {
    constexpr std::string_view metadata = "metadata.";
    if (path.starts_with(metadata)) return did_you_mean(path.substr(metadata.size()), crd::metadata_members());
    const crd::node* at = &type;
    while (true) {
        std::string_view rest = path;
        const crd::node* const next = step(*at, rest);
        if (next == nullptr || rest.empty()) break;
        at = next;
        path = rest.starts_with('.') ? rest.substr(1) : rest;
    }
    std::string meant = did_you_mean(path, names_of(*at));
    return meant.empty() ? below(*at, path) : meant;
}

opinion judge_type(doc::ref document) {
    const std::string_view version = document.get("apiVersion").as_string();
    const std::string_view kind = document.get("kind").as_string();
    const std::string_view group = version.substr(0, version.find('/'));
    const bool known_kind = crd::schema_of(kind) != nullptr;
    opinion out;
    if (version == names::trainer_api_version && !known_kind) {
        std::vector<std::string_view> kinds;
        for (const crd::definition& each : crd::definitions()) kinds.push_back(each.resource.kind);
        out.errors.push_back({"kind", no_matches(kind, version) + did_you_mean(kind, kinds)});
    } else if (version != names::trainer_api_version && (known_kind || group == names::trainer_group)) {
        out.errors.push_back({"apiVersion", no_matches(kind, version) + "; did you mean \"" +
                                                std::string(names::trainer_api_version) + "\"?"});
    }
    return out;
}

}  // namespace cotrain::app
