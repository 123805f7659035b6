// Compares values with their schema at hand.
#include "api/schema/same.hpp"

#include <algorithm>
#include <vector>

#include "api/json.hpp"

namespace cotrain::api::schema {
namespace {

std::string text_of(ref value) {
    std::string text;
    append_sorted_json(text, value);
    return text;
}

bool same_objects(const node* schema, ref a, ref b, set_order order) {
    return std::ranges::all_of(a.members(), [&](const member& m) {
        const ref other = b.get(m.key());
        if (!other) return false;
        const property* const known = schema != nullptr ? schema->find(m.key()) : nullptr;
        const node* const below = known != nullptr    ? known->value.get()
                                  : schema != nullptr ? schema->values.get()
                                                      : nullptr;
        return same(below, m.value, other, order);
    });
}

bool same_keyed(const node& list, ref a, ref b, set_order order) {
    const keyed_items others = index_items(list, b);
    if (others.size() != index_items(list, a).size()) return false;  // keys may occur twice
    return std::ranges::all_of(a.items(), [&](ref item) {
        const auto other = others.find(key_of(list, item));
        return other != others.end() && same(list.items.get(), item, other->second, order);
    });
}

bool same_set(ref a, ref b) {
    const auto sorted = [](ref list) {
        std::vector<std::string> texts;
        texts.reserve(list.size());
        for (const ref item : list.items()) texts.push_back(text_of(item));
        std::ranges::sort(texts);
        return texts;
    };
    return sorted(a) == sorted(b);
}

bool same_arrays(const node* schema, ref a, ref b, set_order order) {
    if (schema != nullptr && schema->list == list_type::map) return same_keyed(*schema, a, b, order);
    if (schema != nullptr && schema->list == list_type::set && order == set_order::ignored) return same_set(a, b);
    const node* const items = schema != nullptr ? schema->items.get() : nullptr;
    return std::ranges::equal(a.items(), b.items(), [&](ref x, ref y) { return same(items, x, y, order); });
}

}  // namespace

bool same(const node* schema, ref a, ref b, set_order order) {
    if (a.type() != b.type()) return false;
    if (a.same(b)) return true;
    if (!a.is_container()) return equal(a, b);
    if (a.size() != b.size()) return false;
    return a.is_object() ? same_objects(schema, a, b, order) : same_arrays(schema, a, b, order);
}

std::string key_of(const node& list, ref item) {
    if (list.list != list_type::map) return text_of(item);
    std::string text;
    for (const std::string& key : list.keys) {
        // An absent member and a null are different keys.
        if (const ref value = item.get(key); value) append_sorted_json(text, value);
        text += '\n';  // JSON never holds a raw one
    }
    return text;
}

keyed_items index_items(const node& list, ref items) {
    keyed_items index;
    index.reserve(items.size());
    for (const ref item : items.items()) index.try_emplace(key_of(list, item), item);
    return index;
}

}  // namespace cotrain::api::schema
