// Sorts merged lists as the API server does, so that unchanged input gives unchanged output.
#include "runtime/merge_order.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace cotrain::runtime {
namespace {

std::optional<std::size_t> index_of(const item_list& list, api::ref item, std::string_view key) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (same_item(list[i], item, key)) return i;
    }
    return std::nullopt;
}

// Stable: items that `order` does not have come last.
void sort_by(item_list& items, const item_list& order, std::string_view key) {
    std::stable_sort(items.begin(), items.end(), [&](api::ref a, api::ref b) {
        return index_of(order, a, key).value_or(order.size()) < index_of(order, b, key).value_or(order.size());
    });
}

}  // namespace

bool same_item(api::ref a, api::ref b, std::string_view key) {
    if (key.empty()) return equal(a, b);
    const api::ref left = a.get(key);
    return left && equal(left, b.get(key));
}

item_list ordered(const item_list& merged, const item_list& leading, const item_list& original, std::string_view key) {
    item_list first;
    item_list rest;
    for (const api::ref item : merged) (index_of(leading, item, key) ? first : rest).push_back(item);
    sort_by(first, leading, key);
    sort_by(rest, original, key);

    item_list all;
    all.reserve(merged.size());
    std::size_t i = 0;
    for (const api::ref item : first) {
        const auto place = index_of(original, item, key);
        while (i < rest.size()) {
            const auto other = index_of(original, rest[i], key);
            if (!place || !other || *other >= *place) break;
            all.push_back(rest[i++]);
        }
        all.push_back(item);
    }
    all.insert(all.end(), rest.begin() + static_cast<std::ptrdiff_t>(i), rest.end());
    return all;
}

}  // namespace cotrain::runtime
