// Sorts merged lists as the API server does, so that unchanged input gives unchanged output.
#include "runtime/merge_order.hpp"

#include <algorithm>
#include <functional>

namespace cotrain::runtime {
namespace {

// Lists up to this length are searched item by item.
constexpr std::size_t short_list_max = 16;

api::ref key_of(api::ref item, std::string_view key) { return key.empty() ? item : item.get(key); }

// Equal values have equal hashes.
std::size_t hash_of(api::ref value) {
    if (value.is_string()) return std::hash<std::string_view>{}(value.text());
    if (value.is_number()) {
        if (const auto whole = value.as_int()) return std::hash<std::int64_t>{}(*whole);
        return std::hash<double>{}(value.as_double().value_or(0));
    }
    return static_cast<std::size_t>(value.type());
}

struct ranked {
    api::ref item;
    std::optional<std::size_t> leading;
    std::optional<std::size_t> original;
};

// Stable: items that the other list does not have come last.
void sort_by(std::vector<ranked>& items, std::optional<std::size_t> ranked::* place) {
    std::ranges::stable_sort(items, [place](const ranked& a, const ranked& b) {
        return (a.*place).value_or(SIZE_MAX) < (b.*place).value_or(SIZE_MAX);
    });
}

}  // namespace

bool same_item(api::ref a, api::ref b, std::string_view key) {
    if (key.empty()) return equal(a, b);
    const api::ref left = a.get(key);
    return left && equal(left, b.get(key));
}

item_places::item_places(const item_list& list, std::string_view key) : list_(&list), key_(key) {
    if (list.size() <= short_list_max) return;
    by_hash_.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (const api::ref value = key_of(list[i], key)) by_hash_.emplace_back(hash_of(value), i);
    }
    std::ranges::sort(by_hash_);
}

std::optional<std::size_t> item_places::find(api::ref item) const {
    if (list_->size() <= short_list_max) {
        for (std::size_t i = 0; i < list_->size(); ++i) {
            if (same_item((*list_)[i], item, key_)) return i;
        }
        return std::nullopt;
    }
    if (!key_of(item, key_)) return std::nullopt;
    const std::size_t hash = hash_of(key_of(item, key_));
    auto at = std::ranges::lower_bound(by_hash_, std::pair{hash, std::size_t{0}});
    for (; at != by_hash_.end() && at->first == hash; ++at) {
        if (same_item((*list_)[at->second], item, key_)) return at->second;
    }
    return std::nullopt;
}

item_list ordered(const item_list& merged, const item_list& leading, const item_list& original, std::string_view key) {
    const item_places in_leading(leading, key);
    const item_places in_original(original, key);
    std::vector<ranked> first;
    std::vector<ranked> rest;
    for (const api::ref item : merged) {
        const ranked r{item, in_leading.find(item), in_original.find(item)};
        (r.leading ? first : rest).push_back(r);
    }
    sort_by(first, &ranked::leading);
    sort_by(rest, &ranked::original);

    item_list all;
    all.reserve(merged.size());
    std::size_t i = 0;
    for (const ranked& r : first) {
        while (i < rest.size() && r.original && rest[i].original && *rest[i].original < *r.original) {
            all.push_back(rest[i++].item);
        }
        all.push_back(r.item);
    }
    for (; i < rest.size(); ++i) all.push_back(rest[i].item);
    return all;
}

}  // namespace cotrain::runtime
