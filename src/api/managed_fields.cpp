// Walks a document along a set of fields: "f:name" are members, "k:{…}" items by key, "v:…" items of sets, "." the
// thing itself.
#include "api/managed_fields.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "api/edit.hpp"
#include "api/json.hpp"

namespace cotrain::api {

namespace {

struct owned_item {
    ref key;    // members that the item has, or the item itself
    ref below;  // its fields; none: all of it
    bool keyed = false;

    [[nodiscard]] bool is(ref item) const {
        if (!keyed) return equal(key, item);
        return item.is_object() &&
               std::ranges::all_of(key.members(), [&](const member& m) { return equal(m.value, item.get(m.key())); });
    }
};

std::vector<owned_item> owned_items(arena& memory, ref fields) {
    std::vector<owned_item> out;
    for (const member& m : fields.members()) {
        const std::string_view step = m.key();
        const bool keyed = step.starts_with("k:");
        if (!keyed && !step.starts_with("v:")) continue;
        if (const auto key = parse_json_copy(memory, step.substr(2))) out.push_back({*key, m.value, keyed});
    }
    return out;
}

ref owned_members(arena& memory, ref document, ref fields) {
    editor out = editor::object(memory);
    for (const member& m : document.members()) {
        std::string step("f:");
        const ref below = fields.get(step += m.key());
        if (below) out.set(m.key(), owned_part(memory, m.value, below));
    }
    return out;
}

ref owned_list(arena& memory, ref document, ref fields) {
    const std::vector<owned_item> wanted = owned_items(memory, fields);
    editor out = editor::array(memory);
    for (const ref item : document.items()) {
        const auto found = std::ranges::find_if(wanted, [&](const owned_item& w) { return w.is(item); });
        if (found == wanted.end()) continue;
        const ref part = owned_part(memory, item, found->below);
        // Of an item that is owned for being there its keys tell which one it is.
        out.append(found->keyed && part.empty() ? found->key : part);
    }
    return out;
}

}  // namespace

ref applied_fields(ref object, std::string_view manager) {
    const auto entries = object.get({"metadata", "managedFields"}).items();
    const auto found = std::ranges::find_if(entries, [&](ref e) {
        return e.get("manager").as_string() == manager && e.get("operation").as_string() == "Apply" &&
               e.get("subresource").as_string().empty();
    });
    return found == entries.end() ? ref{} : found->get("fieldsV1");
}

ref owned_part(arena& memory, ref document, ref fields) {
    if (fields.empty() || !document.is_container()) return document;
    return document.is_object() ? owned_members(memory, document, fields) : owned_list(memory, document, fields);
}

}  // namespace cotrain::api
