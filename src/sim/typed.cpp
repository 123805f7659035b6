#include "sim/typed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::sim {

namespace {

using crd::list_type;
using crd::value_type;

bool is_open(const schema_node* schema) { return schema == nullptr || schema->type == value_type::any; }

using crd::value_type;
using verdict = std::expected<void, std::string>;

verdict below(const path_element& element, verdict found) {
    if (found) return found;
    return std::unexpected(to_string(element) + found.error());
}

verdict fault(std::string text) { return std::unexpected(": " + std::move(text)); }

verdict check_scalar(const schema_node* schema, doc::ref value) {
    if (schema == nullptr || value.is_null()) return {};
    switch (schema->type) {
        case value_type::string:
            if (!value.is_string()) return fault("expected string, got " + doc::to_json(value));
            return {};
        case value_type::boolean:
            if (!value.is_bool()) return fault("expected boolean, got " + doc::to_json(value));
            return {};
        case value_type::integer:
        case value_type::number:
            if (!value.is_number()) return fault("expected numeric (int or float), got " + doc::to_json(value));
            return {};
        default:
            if (value.is_container()) return fault("expected any scalar, got " + doc::to_json(value));
            return {};
    }
}

verdict check(const schema_node* schema, doc::ref value, duplicates items);

verdict check_list(const schema_node* schema, doc::ref value, duplicates items) {
    if (!value.is_null() && !value.is_array()) return fault("expected list, got " + doc::to_json(value));
    const bool granular = !is_atomic(schema, nature::list);
    std::set<path_element> seen;
    for (std::size_t i = 0; i < value.size(); ++i) {
        path_element element{step::index, fmt::format("{}", i)};
        if (granular) {
            auto key = item_element(schema, value.at(i));
            if (!key) return fault(fmt::format("element {}: {}", i, key.error()));
            element = std::move(*key);
            if (!seen.insert(element).second && items == duplicates::refused)
                return fault("duplicate entries for key " + to_string(element));
        }
        if (auto each = below(element, check(items_of(schema), value.at(i), items)); !each) return each;
    }
    return {};
}

verdict check_map(const schema_node* schema, doc::ref value, duplicates items) {
    if (!value.is_null() && !value.is_object()) return fault("expected map, got " + doc::to_json(value));
    const bool closed = schema != nullptr && schema->type == value_type::object && !schema->properties.empty() &&
                        schema->values == nullptr && !schema->keeps_unknown;
    for (const doc::member& m : value.members()) {
        const member_type type = member_of(schema, m.key());
        verdict each =
            closed && !type.declared ? fault("field not declared in schema") : check(type.schema, m.value, items);
        if (!each) return below(path_element::field(m.key()), std::move(each));
    }
    return {};
}

verdict check(const schema_node* schema, doc::ref value, duplicates items) {
    switch (nature_of(schema, value)) {
        case nature::scalar: return check_scalar(schema, value);
        case nature::list: return check_list(schema, value, items);
        case nature::map: return check_map(schema, value, items);
    }
    return {};
}

// What a value claims: itself, or paths below it.
struct claim {
    bool itself = false;
    field_set below;
};

claim claim_of(const schema_node* schema, doc::ref value);

claim claim_of_list(const schema_node* schema, doc::ref value) {
    claim out;
    const item_index all(schema, value);
    for (const auto& [element, items] : all.by_element) {
        // Doubles are owned as one, whatever is in them.
        out.below.insert(element, true,
                         items.size() > 1 ? field_set{} : claim_of(items_of(schema), items.front()).below);
    }
    return out;
}

claim claim_of_map(const schema_node* schema, doc::ref value) {
    claim out;
    for (const doc::member& m : value.members()) {
        const member_type type = member_of(schema, m.key());
        claim inside = claim_of(type.schema, m.value);
        const bool hollow = m.value.is_null() || (m.value.is_object() && m.value.empty());
        out.below.insert(path_element::field(m.key()), inside.itself || hollow || !type.declared,
                         std::move(inside.below));
    }
    return out;
}

claim claim_of(const schema_node* schema, doc::ref value) {
    const nature what = nature_of(schema, value);
    if (is_atomic(schema, what)) return {.itself = true, .below = {}};
    return what == nature::list ? claim_of_list(schema, value) : claim_of_map(schema, value);
}

class comparer {
   public:
    comparison out;

    void compare(const schema_node* schema, doc::ref before, doc::ref after) {
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
    bool walk(const schema_node* schema, nature what, doc::ref before, doc::ref after) {
        const doc::ref left = side(before, what);
        const doc::ref right = side(after, what);
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

    static doc::ref side(doc::ref value, nature what) {
        return (what == nature::map ? value.is_object() : value.is_array()) ? value : doc::ref{};
    }

    void step_into(path_element element, const schema_node* schema, doc::ref before, doc::ref after) {
        here_.push_back(std::move(element));
        compare(schema, before, after);
        here_.pop_back();
    }

    void walk_map(const schema_node* schema, doc::ref before, doc::ref after) {
        for (const doc::member& m : before.members()) {
            step_into(path_element::field(m.key()), member_of(schema, m.key()).schema, m.value, after.get(m.key()));
        }
        for (const doc::member& m : after.members()) {
            if (before.contains(m.key())) continue;
            step_into(path_element::field(m.key()), member_of(schema, m.key()).schema, {}, m.value);
        }
    }

    void walk_list(const schema_node* schema, doc::ref before, doc::ref after) {
        static const std::vector<doc::ref> none;
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

    // Items that occur more than once under one element are compared as one value.
    void walk_items(const schema_node* list, const path_element& element, const std::vector<doc::ref>& before,
                    const std::vector<doc::ref>& after) {
        const auto first = [](const std::vector<doc::ref>& items) {
            return items.empty() ? doc::ref{} : items.front();
        };
        const bool double_before = before.size() > 1;
        const bool double_after = after.size() > 1;
        if (double_before && double_after) {
            if (!std::ranges::equal(before, after, [](doc::ref a, doc::ref b) { return equal(a, b); }))
                mark(out.modified, element);
            return;
        }
        const doc::ref old_item = double_before ? doc::ref{} : first(before);
        const doc::ref new_item = double_after ? doc::ref{} : first(after);
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

class merger {
   public:
    explicit merger(doc::arena& memory) : memory_(memory) {}

    // Either side may be absent, not both. The result is absent where nothing is left to say.
    doc::ref merge(const schema_node* schema, doc::ref live, doc::ref config) {
        const nature what = nature_of(schema, config ? config : live);
        const bool nothing_inside = is_hollow(side(live, what)) && is_hollow(side(config, what));
        if (is_atomic(schema, what) || nothing_inside) return config ? config : live;
        return what == nature::map ? merge_map(schema, live, config) : merge_list(schema, live, config);
    }

   private:
    // A side of another nature counts as not there.
    static doc::ref side(doc::ref value, nature what) {
        return (what == nature::map ? value.is_object() : value.is_array()) ? value : doc::ref{};
    }

    doc::ref merge_map(const schema_node* schema, doc::ref live, doc::ref config) {
        doc::editor out = doc::editor::object(memory_);
        const auto put = [&](std::string_view name, doc::ref before, doc::ref wanted) {
            if (const doc::ref merged = merge(member_of(schema, name).schema, before, wanted)) out.set(name, merged);
        };
        for (const doc::member& m : side(live, nature::map).members()) put(m.key(), m.value, config.get(m.key()));
        for (const doc::member& m : side(config, nature::map).members()) {
            if (!live.contains(m.key())) put(m.key(), {}, m.value);
        }
        return out.size() == 0 ? doc::ref{} : out.view();
    }

    // Items of the configuration keep its order; live items that it does not name stay where they are between those
    // that both name.
    doc::ref merge_list(const schema_node* schema, doc::ref live, doc::ref config) {
        const item_index left(schema, side(live, nature::list));
        const item_index right(schema, side(config, nature::list));
        doc::editor out = doc::editor::array(memory_);
        const auto put = [&](doc::ref before, doc::ref wanted) {
            if (const doc::ref merged = merge(items_of(schema), before, wanted)) out.append(merged);
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
            put(before == nullptr    ? doc::ref{}
                : before->size() > 1 ? doc::ref::make_null()
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
        return out.size() == 0 ? doc::ref{} : out.view();
    }

    doc::arena& memory_;
};

class remover {
   public:
    explicit remover(doc::arena& memory) : memory_(memory) {}

    doc::ref remove(const schema_node* schema, doc::ref value, const field_set& paths) {
        const nature what = nature_of(schema, value);
        if (what == nature::scalar) return value;
        // What is replaced as a whole is also taken out as a whole; a hollow value has nothing to keep.
        if (is_atomic(schema, what) || is_hollow(value)) return doc::ref::make_null();
        return what == nature::map ? remove_members(schema, value, paths) : remove_items(schema, value, paths);
    }

   private:
    doc::ref remove_members(const schema_node* schema, doc::ref value, const field_set& paths) {
        doc::editor out = doc::editor::object(memory_);
        for (const doc::member& m : value.members()) {
            const field_entry* const entry = paths.find(path_element::field(m.key()));
            if (entry != nullptr && entry->itself) continue;
            out.set(m.key(),
                    entry == nullptr ? m.value : remove(member_of(schema, m.key()).schema, m.value, entry->below));
        }
        return out.size() == 0 ? doc::ref::make_null() : out.view();
    }

    doc::ref remove_items(const schema_node* schema, doc::ref value, const field_set& paths) {
        doc::editor out = doc::editor::array(memory_);
        for (const doc::ref item : value.items()) {
            const auto element = item_element(schema, item);
            const field_entry* const entry = element ? paths.find(*element) : nullptr;
            if (entry != nullptr && entry->itself) continue;
            out.append(entry == nullptr ? item : remove(items_of(schema), item, entry->below));
        }
        return out.size() == 0 ? doc::ref::make_null() : out.view();
    }

    doc::arena& memory_;
};

}  // namespace

nature nature_of(const schema_node* schema, doc::ref value) {
    if (is_open(schema)) {
        if (value.is_array()) return nature::list;
        return value.is_object() || value.is_unset() ? nature::map : nature::scalar;
    }
    if (schema->type == value_type::object) return nature::map;
    return schema->type == value_type::array ? nature::list : nature::scalar;
}

bool is_atomic(const schema_node* schema, nature what) {
    if (what == nature::scalar) return true;
    if (what == nature::map) return schema != nullptr && schema->atomic_map;
    return is_open(schema) || (schema->list != list_type::map && schema->list != list_type::set);
}

member_type member_of(const schema_node* schema, std::string_view name) {
    if (schema == nullptr) return {};
    if (const auto* known = schema->find(name)) return {true, known->value.get()};
    return {false, schema->values.get()};
}

const schema_node* items_of(const schema_node* schema) { return schema == nullptr ? nullptr : schema->items.get(); }

std::expected<path_element, std::string> item_element(const schema_node* list, doc::ref item) {
    if (list->list == list_type::set) {
        if (item.is_object()) return std::unexpected("associative list without keys has an element that's a map type");
        if (item.is_array()) return std::unexpected("not supported: associative list with lists as elements");
        if (item.is_null())
            return std::unexpected("associative list without keys has an element that's an explicit null");
        return path_element{step::value, scalar_text(item)};
    }
    if (item.is_null()) return std::unexpected("associative list with keys may not have a null element");
    if (!item.is_object()) return std::unexpected("associative list with keys may not have non-map elements");
    std::vector<std::pair<std::string, std::string>> keys;
    for (const std::string& name : list->keys) {
        if (const doc::ref key = item.get(name)) {
            keys.emplace_back(name, scalar_text(key));
        } else if (const auto* known = list->items ? list->items->find(name) : nullptr;
                   known != nullptr && !known->value->fallback.empty()) {
            keys.emplace_back(name, known->value->fallback);
        }
    }
    if (keys.empty()) {
        return std::unexpected(fmt::format(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default "
            "values for any key fields)",
            fmt::join(list->keys, " ")));
    }
    std::ranges::sort(keys);
    std::string text = "{";
    for (const auto& [name, value] : keys) {
        if (text.size() > 1) text += ',';
        text += doc::to_json(doc::ref::make_string(name)) + ':' + value;
    }
    return path_element{step::key, text + '}'};
}

item_index::item_index(const schema_node* list, doc::ref of) {
    for (const doc::ref item : of.items()) {
        auto element = item_element(list, item);
        if (!element) continue;  // refused before, or stored by an older schema: belongs to nobody
        by_element[*element].push_back(item);
        items.push_back(item);
        order.push_back(std::move(*element));
    }
}

const std::vector<doc::ref>* item_index::find(const path_element& element) const {
    const auto found = by_element.find(element);
    return found == by_element.end() ? nullptr : &found->second;
}

std::expected<void, std::string> check_mergeable(const schema_node* schema, doc::ref value, duplicates items) {
    return check(schema, value, items);
}

field_set fields_of(const schema_node* schema, doc::ref value) { return claim_of(schema, value).below; }

comparison compare(const schema_node* schema, doc::ref before, doc::ref after) {
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

doc::ref merge(doc::arena& memory, const schema_node* schema, doc::ref live, doc::ref config) {
    return merger(memory).merge(schema, live, config);
}

doc::ref without(doc::arena& memory, const schema_node* schema, doc::ref value, const field_set& paths) {
    return remover(memory).remove(schema, value, paths);
}

}  // namespace cotrain::sim
