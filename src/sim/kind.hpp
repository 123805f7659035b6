// The kinds of objects that are served, as data: built-in ones and those of CustomResourceDefinitions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "crd/check.hpp"
#include "crd/node.hpp"
#include "doc/arena.hpp"
#include "doc/edit.hpp"
#include "doc/tree.hpp"

namespace cotrain::sim {

// A column of `kubectl get`, beside the name.
struct column {
    std::string name;
    std::string type;
    std::string path;  // ".status.phase", or ".status.conditions[-1:].type" as definitions write it
    int priority = 0;  // above 0: only with -o wide
    std::string description;
    // Of columns that no path leads to.
    std::string (*text)(doc::ref object, base::seconds_time now) = nullptr;
};

// Who sends a request.
struct caller {
    std::string name = "system:anonymous";
    std::vector<std::string> groups{};
};
// The users that tokens belong to.
using token_table = std::map<std::string, caller, std::less<>>;

// The objects of another kind in another form, as core/v1 Events are to those of events.k8s.io.
struct other_form {
    std::string_view group;
    std::string_view version;
    std::string_view plural;
    doc::ref (*show)(doc::arena& memory, doc::ref stored);
    doc::ref (*read)(doc::arena& memory, doc::ref shown);
    std::string (*field)(std::string_view selected);  // how a selector's field is called in the other kind
};

// Where the sub-resource scale finds its numbers.
struct scale_paths {
    std::string wanted;    // ".spec.replicas"
    std::string there;     // ".status.replicas"
    std::string selector;  // of a text, or of a LabelSelector; empty: none
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
    crd::shared_node body;    // how objects are judged, pruned and defaulted
    crd::shared_node merged;  // the same with metadata spelled out
    // The schema as its definition has it, descriptions and all; empty where no definition brought one.
    std::string told_schema{};
    // What the server itself fills in, and where it refuses a change; null: nothing.
    void (*fill)(doc::arena& memory, doc::editor& object) = nullptr;
    std::string (*refuse)(doc::ref live, doc::ref wanted) = nullptr;  // "path: what", empty: fine
    // What is wrong with one that is new.
    void (*check)(doc::ref object, std::vector<crd::violation>& out) = nullptr;
    // Reviews are answered, not kept: puts the status into what was posted.
    void (*answer)(doc::editor& object, const caller& who, const token_table& tokens) = nullptr;
    std::optional<other_form> of_other{};
    // The version that is stored, of a kind that is another version of it.
    const kind* home = nullptr;
    std::optional<scale_paths> scale{};
    bool orphans_dependents = false;  // where who deletes does not say
    bool made_by_update = false;      // one that is not there yet
    // What its definition asks for and this server does not judge: "spec.size: pattern ^a+$".
    std::vector<std::string> unjudged{};
    // Fields that selectors may name beside metadata.name and metadata.namespace, as they are stored.
    std::vector<std::string> selectable{};

    [[nodiscard]] std::string api_version() const { return group.empty() ? version : group + "/" + version; }
    // "trainjobs.trainer.kubeflow.org", "configmaps"
    [[nodiscard]] std::string resource() const { return group.empty() ? plural : plural + "." + group; }
    // As which its objects are kept.
    [[nodiscard]] const kind& kept() const { return home != nullptr ? *home : *this; }
};

class kinds {
   public:
    // With the built-in ones.
    kinds();
    // One of our schemas' own definitions or any other CustomResourceDefinition. Rules, patterns and formats that
    // api/schema does not know are not checked, see kind::unjudged. What is defined already becomes what is said now,
    // at the same address; kinds that came by add() stay as they are. The kind of the version that is stored.
    [[nodiscard]] base::result<const kind*> define(doc::ref custom_resource_definition);
    // The kind that was defined so is found no more in any version, and lives on as long as something points to it.
    // Null: there is none.
    const kind* withdraw(doc::ref custom_resource_definition);
    const kind* add(kind made);

    [[nodiscard]] const kind* find(std::string_view group, std::string_view version, std::string_view plural) const;
    [[nodiscard]] const kind* find(std::string_view api_version, std::string_view name) const;
    [[nodiscard]] const std::vector<std::unique_ptr<kind>>& all() const { return all_; }

   private:
    base::result<const kind*> settle(std::string_view name, kind made);
    void withdraw_versions(const kind& stored, doc::ref spec);

    std::vector<std::unique_ptr<kind>> all_;
    std::vector<std::unique_ptr<kind>> withdrawn_;
};

// The built-in kinds.
[[nodiscard]] std::vector<kind> built_in_kinds();
// JobSet and both PodGroups, with what their own controllers fill in; where they are not defined already.
void add_neighbours(kinds& to);
// metav1.ObjectMeta.
[[nodiscard]] crd::shared_node object_meta();
// A schema of a whole object with its metadata spelled out.
[[nodiscard]] crd::shared_node with_object_meta(const crd::node& body);

}  // namespace cotrain::sim
