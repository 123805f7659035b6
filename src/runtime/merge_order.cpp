// Sorts merged lists as the API server does, so that unchanged input gives unchanged output.
#include "runtime/merge_order.hpp"

#include <algorithm>
#include <tuple>

#include "api/json.hpp"

namespace cotrain::runtime {
namespace {

// Lists up to this length are searched item by item.
constexpr std::size_t short_list_max = 16;

api::ref key_of(api::ref item, std::string_view key) { return key.empty() ? item : item.get(key); }

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

bool item_places::sort_key::operator<(const sort_key& other) const {
    return std::tie(rank, whole, real, text) < std::tie(other.rank, other.whole, other.real, other.text);
}

item_places::sort_key item_places::sort_key_of(api::ref value, std::string& text) {
    const auto rank = static_cast<int>(value.type()) * 4;
    if (value.is_string()) return {.rank = rank, .text = value.text()};
    if (value.is_bool()) return {.rank = rank, .whole = value.as_bool(false) ? 1 : 0};
    if (value.is_number()) {
        if (const auto whole = value.as_int()) return {.rank = rank, .whole = *whole};
        if (const auto real = value.as_double()) return {.rank = rank + 1, .real = *real};
        return {.rank = rank + 2, .text = value.text()};
    }
    if (!value.is_container()) return {.rank = rank};
    api::append_sorted_json(text, value);
    return {.rank = rank, .text = text};
}

item_places::item_places(const item_list& list, std::string_view key) : list_(&list), key_(key) {
    if (list.size() <= short_list_max) return;
    sorted_.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const api::ref value = key_of(list[i], key);
        if (!value) continue;
        if (value.is_container()) texts_.emplace_back();
        std::string none;
        sorted_.push_back({sort_key_of(value, value.is_container() ? texts_.back() : none), i});
    }
    std::ranges::stable_sort(sorted_, [](const entry& a, const entry& b) { return a.key < b.key; });
}

std::optional<std::size_t> item_places::find(api::ref item) const {
    if (list_->size() <= short_list_max) {
        for (std::size_t i = 0; i < list_->size(); ++i) {
            if (same_item((*list_)[i], item, key_)) return i;
        }
        return std::nullopt;
    }
    const api::ref value = key_of(item, key_);
    if (!value) return std::nullopt;
    std::string text;
    const sort_key wanted = sort_key_of(value, text);
    const auto before = [](const sort_key& a, const sort_key& b) { return a < b; };
    const auto at = std::ranges::lower_bound(sorted_, wanted, before, &entry::key);
    if (at == sorted_.end() || wanted < at->key) return std::nullopt;
    return at->place;
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
