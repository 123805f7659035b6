// JSON merge patch (RFC 7386).
#include "api/edit.hpp"
#include "sim/patch.hpp"

namespace cotrain::sim {

api::ref merge_patch(api::arena& memory, api::ref document, api::ref patch) {
    if (!patch.is_object()) return patch;
    api::editor out = document.is_object() ? api::editor::of(memory, document) : api::editor::object(memory);
    for (const api::member& m : patch.members()) {
        if (m.value.is_null()) {
            out.remove(m.key());
        } else {
            out.set(m.key(), merge_patch(memory, out.get(m.key()), m.value));
        }
    }
    return out;
}

}  // namespace cotrain::sim
