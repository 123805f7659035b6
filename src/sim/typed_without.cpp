// Takes paths out of a value.
#include <utility>

#include "api/edit.hpp"
#include "sim/typed_view.hpp"

namespace cotrain::sim {
namespace {

class remover {
   public:
    explicit remover(api::arena& memory) : memory_(memory) {}

    api::ref remove(const schema_node* schema, api::ref value, const field_set& paths) {
        const nature what = nature_of(schema, value);
        if (what == nature::scalar) return value;
        // What is replaced as a whole is also taken out as a whole; a hollow value has nothing to keep.
        if (is_atomic(schema, what) || is_hollow(value)) return api::ref::make_null();
        return what == nature::map ? remove_members(schema, value, paths) : remove_items(schema, value, paths);
    }

   private:
    api::ref remove_members(const schema_node* schema, api::ref value, const field_set& paths) {
        api::editor out = api::editor::object(memory_);
        for (const api::member& m : value.members()) {
            const field_entry* const entry = paths.find(path_element::field(m.key()));
            if (entry != nullptr && entry->itself) continue;
            out.set(m.key(),
                    entry == nullptr ? m.value : remove(member_of(schema, m.key()).schema, m.value, entry->below));
        }
        return out.size() == 0 ? api::ref::make_null() : out.view();
    }

    api::ref remove_items(const schema_node* schema, api::ref value, const field_set& paths) {
        api::editor out = api::editor::array(memory_);
        for (const api::ref item : value.items()) {
            const auto element = item_element(schema, item);
            const field_entry* const entry = element ? paths.find(*element) : nullptr;
            if (entry != nullptr && entry->itself) continue;
            out.append(entry == nullptr ? item : remove(items_of(schema), item, entry->below));
        }
        return out.size() == 0 ? api::ref::make_null() : out.view();
    }

    api::arena& memory_;
};

}  // namespace

api::ref without(api::arena& memory, const schema_node* schema, api::ref value, const field_set& paths) {
    return remover(memory).remove(schema, value, paths);
}

}  // namespace cotrain::sim
