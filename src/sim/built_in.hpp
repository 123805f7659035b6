// How built-in kinds are put together, for the sources that list them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/kind.hpp"

namespace cotrain::sim {

struct kind_names {
    std::string_view group;
    std::string_view version;
    std::string_view plural;
    std::string_view singular;
    std::string_view name;
    bool namespaced = true;
    std::vector<std::string> short_names{};
};
[[nodiscard]] kind make_kind(kind_names names, crd::shared_node body);

// An object of which nothing is known but its spec and status.
[[nodiscard]] crd::shared_node free_body();
// One of the server's own types by name.
[[nodiscard]] crd::shared_node own_type(std::string_view name);

// What the API server fills in.
void default_pod_spec(doc::editor spec);
void fill_job(doc::arena& memory, doc::editor& object);
// What it refuses first.
void check_pod(doc::ref object, std::vector<crd::violation>& out);
void check_job(doc::ref object, std::vector<crd::violation>& out);

void add_workloads(std::vector<kind>& to);    // Pods, Jobs and what is around them
void add_more(std::vector<kind>& to);         // Deployments, claims, policies, …
void add_events(std::vector<kind>& to);       // in both forms
void add_reviews(std::vector<kind>& to);      // tokens and access
void add_extensions(std::vector<kind>& to);   // CustomResourceDefinitions, webhook configurations
void add_permissions(std::vector<kind>& to);  // roles and bindings: kept, not enforced

}  // namespace cotrain::sim
