// Small maps are edited, large ones sorted: foreign input must not cost a square.
#include "runtime/merge_maps.hpp"

#include "api/edit.hpp"
#include "api/tree_builder.hpp"

namespace cotrain::runtime {
namespace {

constexpr std::size_t edited_members_max = 32;

}  // namespace

api::ref joined(api::arena& memory, api::ref below, api::ref above) {
    if (above.empty()) return below;
    if (below.empty()) return above;
    if (above.size() <= edited_members_max) {
        api::editor both = api::editor::of(memory, below);
        for (const api::member& m : above.members()) both.set(m.key(), m.value);
        return both;
    }
    api::tree_builder both(memory);
    const std::size_t mark = both.mark();
    for (const api::ref map : {below, above}) {
        for (const api::member& m : map.members()) {
            both.push(m.name);
            both.push(m.value);
        }
    }
    both.drop_duplicates(mark);
    return both.close(api::kind::object, mark);
}

}  // namespace cotrain::runtime
