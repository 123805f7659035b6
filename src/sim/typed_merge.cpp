// Merges an applied configuration into a live object.
#include <optional>
#include <set>
#include <utility>

#include "api/edit.hpp"
#include "sim/typed_view.hpp"

namespace cotrain::sim {
namespace {

class merger {
   public:
    explicit merger(api::arena& memory) : memory_(memory) {}

    // Either side may be absent, not both. The result is absent where nothing is left to say.
    api::ref merge(const schema_node* schema, api::ref live, api::ref config) {
        const nature what = nature_of(schema, config ? config : live);
        const bool nothing_inside = is_hollow(side(live, what)) && is_hollow(side(config, what));
        if (is_atomic(schema, what) || nothing_inside) return config ? config : live;
        return what == nature::map ? merge_map(schema, live, config) : merge_list(schema, live, config);
    }

   private:
    // A side of another nature counts as not there.
    static api::ref side(api::ref value, nature what) {
        return (what == nature::map ? value.is_object() : value.is_array()) ? value : api::ref{};
    }

    api::ref merge_map(const schema_node* schema, api::ref live, api::ref config) {
        api::editor out = api::editor::object(memory_);
        const auto put = [&](std::string_view name, api::ref before, api::ref wanted) {
            if (const api::ref merged = merge(member_of(schema, name).schema, before, wanted)) out.set(name, merged);
        };
        for (const api::member& m : side(live, nature::map).members()) put(m.key(), m.value, config.get(m.key()));
        for (const api::member& m : side(config, nature::map).members()) {
            if (!live.contains(m.key())) put(m.key(), {}, m.value);
        }
        return out.size() == 0 ? api::ref{} : out.view();
    }

    // Items of the configuration keep its order; live items that it does not name stay where they are between those
    // that both name.
    api::ref merge_list(const schema_node* schema, api::ref live, api::ref config) {
        const item_index left(schema, side(live, nature::list));
        const item_index right(schema, side(config, nature::list));
        api::editor out = api::editor::array(memory_);
        const auto put = [&](api::ref before, api::ref wanted) {
            if (const api::ref merged = merge(items_of(schema), before, wanted)) out.append(merged);
        };
        // Where the configuration's next item that is live too stands in its order.
        std::size_t shared = 0;
        const auto seek_shared = [&] {
            while (shared < right.order.size() && left.find(right.order[shared]) == nullptr) ++shared;
        };
        seek_shared();
        std::set<path_element> done;
        const auto put_right = [&](std::size_t place) {
            const path_element& element = right.order[place];
            const auto* const before = left.find(element);
            done.insert(element);
            put(before == nullptr    ? api::ref{}
                : before->size() > 1 ? api::ref::make_null()
                                     : before->front(),
                right.find(element)->front());
            if (shared == place) {
                ++shared;
                seek_shared();
            }
        };
        std::size_t l = 0;
        std::size_t r = 0;
        while (l < left.order.size() || r < right.order.size()) {
            if (l < left.order.size()) {
                const path_element& element = left.order[l];
                const bool named = right.find(element) != nullptr;
                if (!named) {
                    put(left.items[l++], {});
                    continue;
                }
                if (shared >= right.order.size()) {  // a double of one that is done
                    ++l;
                } else if (right.order[shared] != element) {  // its turn comes by the configuration's order
                    ++l;
                    continue;
                } else if (r == shared) {
                    ++l;
                }
            }
            if (r < right.order.size()) put_right(r++);
        }
        return out.size() == 0 ? api::ref{} : out.view();
    }

    api::arena& memory_;
};

}  // namespace

api::ref merge(api::arena& memory, const schema_node* schema, api::ref live, api::ref config) {
    return merger(memory).merge(schema, live, config);
}

}  // namespace cotrain::sim
