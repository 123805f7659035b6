// The kinds of objects that are served, as data: built-in ones and those of CustomResourceDefinitions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/arena.hpp"
#include "api/edit.hpp"
#include "api/schema/node.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"

namespace cotrain::sim {

// A column of `kubectl get`, beside the name.
struct column {
    std::string name;
    std::string type;
    std::string path;  // ".status.phase", or ".status.conditions[-1:].type" as definitions write it
    int priority = 0;  // above 0: only with -o wide
    std::string description;
};

struct kind {
    std::string group;
    std::string version;
    std::string plural;
    std::string singular;
    std::string name;
    std::string list_name;
    std::vector<std::string> short_names;
    std::vector<std::string> categories;
    bool namespaced = true;
    bool custom = false;
    bool has_status = false;
    bool has_generation = false;
    std::vector<column> columns;
    api::schema::shared_node body;    // how objects are judged, pruned and defaulted
    api::schema::shared_node merged;  // the same with metadata spelled out
    // What the server itself fills in, and where it refuses a change; null: nothing.
    void (*fill)(api::arena& memory, api::editor& object) = nullptr;
    std::string (*refuse)(api::ref live, api::ref wanted) = nullptr;  // "path: what", empty: fine

    [[nodiscard]] std::string api_version() const { return group.empty() ? version : group + "/" + version; }
    // "trainjobs.trainer.kubeflow.org", "configmaps"
    [[nodiscard]] std::string resource() const { return group.empty() ? plural : plural + "." + group; }
};

class kinds {
   public:
    // With the built-in ones.
    kinds();
    // One of our schemas' own definitions or any other CustomResourceDefinition. Rules, patterns and formats that
    // api/schema does not know are not checked.
    [[nodiscard]] base::result<const kind*> define(api::ref custom_resource_definition);

    [[nodiscard]] const kind* find(std::string_view group, std::string_view version, std::string_view plural) const;
    [[nodiscard]] const kind* find(std::string_view api_version, std::string_view name) const;
    [[nodiscard]] const std::vector<std::unique_ptr<const kind>>& all() const { return all_; }

   private:
    std::vector<std::unique_ptr<const kind>> all_;
};

// The built-in kinds.
[[nodiscard]] std::vector<kind> built_in_kinds();
// metav1.ObjectMeta.
[[nodiscard]] api::schema::shared_node object_meta();
// A schema of a whole object with its metadata spelled out.
[[nodiscard]] api::schema::shared_node with_object_meta(const api::schema::node& body);

}  // namespace cotrain::sim
