// Walks a document along a set of fields: "f:name" are members, "k:{…}" items by key, "v:…" items of sets, "." the
// thing itself.
#include "api/managed_fields.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::api {

namespace {

struct owned_item {
    doc::ref key;    // members that the item has, or the item itself
    doc::ref below;  // its fields; none: all of it
    bool keyed = false;

    [[nodiscard]] bool is(doc::ref item) const {
        if (!keyed) return doc::equal(key, item);
        return item.is_object() && std::ranges::all_of(key.members(), [&](const doc::member& m) {
                   return doc::equal(m.value, item.get(m.key()));
               });
    }
};

std::vector<owned_item> owned_items(doc::arena& memory, doc::ref fields) {
    std::vector<owned_item> out;
    for (const doc::member& m : fields.members()) {
        const std::string_view step = m.key();
        const bool keyed = step.starts_with("k:");
        if (!keyed && !step.starts_with("v:")) continue;
        if (const auto key = doc::parse_json_copy(memory, step.substr(2))) out.push_back({*key, m.value, keyed});
    }
    return out;
}

doc::ref owned_members(doc::arena& memory, doc::ref document, doc::ref fields) {
    doc::editor out = doc::editor::object(memory);
    for (const doc::member& m : document.members()) {
        std::string step("f:");
        const doc::ref below = fields.get(step += m.key());
        if (below) out.set(m.key(), owned_part(memory, m.value, below));
    }
    return out;
}

doc::ref owned_list(doc::arena& memory, doc::ref document, doc::ref fields) {
    const std::vector<owned_item> wanted = owned_items(memory, fields);
    doc::editor out = doc::editor::array(memory);
    for (const doc::ref item : document.items()) {
        const auto found = std::ranges::find_if(wanted, [&](const owned_item& w) { return w.is(item); });
        if (found == wanted.end()) continue;
        const doc::ref part = owned_part(memory, item, found->below);
        // Of an item that is owned for being there its keys tell which one it is.
        out.append(found->keyed && part.empty() ? found->key : part);
    }
    return out;
}

}  // namespace

doc::ref applied_fields(doc::ref object, std::string_view manager) {
    const auto entries = object.get({"metadata", "managedFields"}).items();
    const auto found = std::ranges::find_if(entries, [&](doc::ref e) {
        return e.get("manager").as_string() == manager && e.get("operation").as_string() == "Apply" &&
               e.get("subresource").as_string().empty();
    });
    return found == entries.end() ? doc::ref{} : found->get("fieldsV1");
}

doc::ref owned_part(doc::arena& memory, doc::ref document, doc::ref fields) {
    if (fields.empty() || !document.is_container()) return document;
    return document.is_object() ? owned_members(memory, document, fields) : owned_list(memory, document, fields);
}

}  // namespace cotrain::api
