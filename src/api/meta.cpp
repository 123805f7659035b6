// Reading metadata, and the beginnings of objects to apply.
#include "api/meta.hpp"

#include <algorithm>

namespace cotrain::api {

const owner_reference* object_meta::controller() const {
    const auto found = std::ranges::find_if(owner_references, &owner_reference::controller);
    return found == owner_references.end() ? nullptr : &*found;
}

bool object_meta::controlled_by(std::string_view owner_uid) const {
    const owner_reference* const owner = controller();
    return owner != nullptr && owner->uid == owner_uid && !owner_uid.empty();
}

object_meta decode_meta(const doc::place& object) {
    object_meta meta;
    const doc::place in = object.object("metadata");
    if (!in) return meta;
    in.read("name", meta.name);
    in.read("generateName", meta.generate_name);
    in.read("namespace", meta.ns);
    in.read("uid", meta.uid);
    in.read("resourceVersion", meta.resource_version);
    in.read("generation", meta.generation);
    in.read_string_map("labels", meta.labels);
    in.read_string_map("annotations", meta.annotations);
    in.read_array("finalizers", meta.finalizers);
    in.read("creationTimestamp", meta.creation_time);
    in.read("deletionTimestamp", meta.deletion_time);
    const doc::place owners = in.array("ownerReferences");
    meta.owner_references.resize(owners.size());
    for (std::size_t i = 0; i < owners.size(); ++i) {
        const doc::place from = owners.object_item(i);
        owner_reference& owner = meta.owner_references[i];
        from.read("apiVersion", owner.api_version);
        from.read("kind", owner.kind);
        from.read("name", owner.name);
        from.read("uid", owner.uid);
        from.read("controller", owner.controller);
        from.read("blockOwnerDeletion", owner.block_owner_deletion);
    }
    return meta;
}

doc::ref controller_reference(doc::arena& memory, doc::word api_version, doc::word kind, const object_meta& owner) {
    doc::editor out = doc::editor::object(memory);
    out.set("apiVersion", api_version).set("kind", kind).set("name", owner.name).set("uid", owner.uid);
    out.set("controller", true).set("blockOwnerDeletion", true);
    return out;
}

doc::editor new_object(doc::arena& memory, doc::word api_version, doc::word kind, std::string_view name,
                       std::string_view ns) {
    doc::editor out = doc::editor::object(memory);
    out.set("apiVersion", api_version).set("kind", kind);
    doc::editor meta = out.ensure_object("metadata");
    meta.set("name", name);
    if (!ns.empty()) meta.set("namespace", ns);
    return out;
}

}  // namespace cotrain::api
