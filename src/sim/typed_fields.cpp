// Field sets of objects: what a value claims, what lies between two values, which members lead to a path.
#include <algorithm>
#include <utility>

#include "sim/typed_view.hpp"

namespace cotrain::sim {
namespace {

// What a value claims: itself, or paths below it.
struct claim {
    bool itself = false;
    field_set below;
};

claim claim_of(const schema_node* schema, api::ref value);

claim claim_of_list(const schema_node* schema, api::ref value) {
    claim out;
    const item_index all(schema, value);
    for (const auto& [element, items] : all.by_element) {
        // Doubles are owned as one, whatever is in them.
        out.below.insert(element, true,
                         items.size() > 1 ? field_set{} : claim_of(items_of(schema), items.front()).below);
    }
    return out;
}

claim claim_of_map(const schema_node* schema, api::ref value) {
    claim out;
    for (const api::member& m : value.members()) {
        const member_type type = member_of(schema, m.key());
        claim inside = claim_of(type.schema, m.value);
        const bool hollow = m.value.is_null() || (m.value.is_object() && m.value.empty());
        out.below.insert(path_element::field(m.key()), inside.itself || hollow || !type.declared,
                         std::move(inside.below));
    }
    return out;
}

claim claim_of(const schema_node* schema, api::ref value) {
    const nature what = nature_of(schema, value);
    if (is_atomic(schema, what)) return {.itself = true, .below = {}};
    return what == nature::list ? claim_of_list(schema, value) : claim_of_map(schema, value);
}

class comparer {
   public:
    comparison out;

    void compare(const schema_node* schema, api::ref before, api::ref after) {
        const nature old_nature = nature_of(schema, before);
        const nature new_nature = nature_of(schema, after);
        bool leaf = false;
        // A value that turns from one nature into another: the old one's parts go first.
        if (before && after && old_nature != new_nature) walk(schema, old_nature, before, after);
        leaf = walk(schema, after ? new_nature : old_nature, before, after);
        if (leaf || (before && after)) return;
        (before ? out.removed : out.added).insert(here_);
    }

   private:
    // Whether the value counts as one, without parts.
    bool walk(const schema_node* schema, nature what, api::ref before, api::ref after) {
        const api::ref left = side(before, what);
        const api::ref right = side(after, what);
        if (is_atomic(schema, what) || (is_hollow(left) && is_hollow(right))) {
            if (!before) {
                out.added.insert(here_);
            } else if (!after) {
                out.removed.insert(here_);
            } else if (!equal(before, after)) {
                out.modified.insert(here_);
            }
            return true;
        }
        if (what == nature::map) {
            walk_map(schema, left, right);
        } else {
            walk_list(schema, left, right);
        }
        return false;
    }

    static api::ref side(api::ref value, nature what) {
        return (what == nature::map ? value.is_object() : value.is_array()) ? value : api::ref{};
    }

    void step_into(path_element element, const schema_node* schema, api::ref before, api::ref after) {
        here_.push_back(std::move(element));
        compare(schema, before, after);
        here_.pop_back();
    }

    void walk_map(const schema_node* schema, api::ref before, api::ref after) {
        for (const api::member& m : before.members()) {
            step_into(path_element::field(m.key()), member_of(schema, m.key()).schema, m.value, after.get(m.key()));
        }
        for (const api::member& m : after.members()) {
            if (before.contains(m.key())) continue;
            step_into(path_element::field(m.key()), member_of(schema, m.key()).schema, {}, m.value);
        }
    }

    void walk_list(const schema_node* schema, api::ref before, api::ref after) {
        static const std::vector<api::ref> none;
        const item_index left(schema, before);
        const item_index right(schema, after);
        for (const auto& [element, items] : left.by_element) {
            const auto* const now = right.find(element);
            walk_items(schema, element, items, now == nullptr ? none : *now);
        }
        for (const auto& [element, items] : right.by_element) {
            if (left.find(element) == nullptr) walk_items(schema, element, none, items);
        }
    }

    // Items that stand more than once under one element are compared as one value.
    void walk_items(const schema_node* list, const path_element& element, const std::vector<api::ref>& before,
                    const std::vector<api::ref>& after) {
        const auto first = [](const std::vector<api::ref>& items) {
            return items.empty() ? api::ref{} : items.front();
        };
        const bool double_before = before.size() > 1;
        const bool double_after = after.size() > 1;
        if (double_before && double_after) {
            if (!std::ranges::equal(before, after, [](api::ref a, api::ref b) { return equal(a, b); }))
                mark(out.modified, element);
            return;
        }
        const api::ref old_item = double_before ? api::ref{} : first(before);
        const api::ref new_item = double_after ? api::ref{} : first(after);
        if (old_item || new_item) step_into(element, items_of(list), old_item, new_item);
        if (double_before) mark(out.removed, element);
        if (double_after) mark(out.added, element);
    }

    void mark(field_set& set, const path_element& element) {
        here_.push_back(element);
        set.insert(here_);
        here_.pop_back();
    }

    path here_;
};

}  // namespace

field_set fields_of(const schema_node* schema, api::ref value) { return claim_of(schema, value).below; }

comparison compare(const schema_node* schema, api::ref before, api::ref after) {
    comparer walk;
    walk.compare(schema, before, after);
    return std::move(walk.out);
}

field_set with_named_members(const schema_node* schema, const field_set& set) {
    field_set out;
    for (const field_entry& entry : set.entries()) {
        const schema_node* inside = nullptr;
        bool named = false;
        if (entry.element.what == step::field) {
            const member_type type = member_of(schema, entry.element.text);
            inside = type.schema;
            named = type.declared && !entry.below.empty();
        } else if (entry.element.what == step::key) {
            inside = items_of(schema);
        }
        out.insert(entry.element, entry.itself || named, with_named_members(inside, entry.below));
    }
    return out;
}

}  // namespace cotrain::sim
