// The merge itself, and the order of merged lists.
#include "runtime/merge.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/member_index.hpp"
#include "doc/tree_builder.hpp"
#include "runtime/object.hpp"

namespace cotrain::runtime {
namespace {

// Lists up to this length are searched item by item.
constexpr std::size_t short_list_max = 16;

doc::ref key_of(doc::ref item, std::string_view key) { return key.empty() ? item : item.get(key); }

struct ranked {
    doc::ref item;
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

bool same_item(doc::ref a, doc::ref b, std::string_view key) {
    if (key.empty()) return equal(a, b);
    const doc::ref left = a.get(key);
    return left && equal(left, b.get(key));
}

bool item_places::sort_key::operator<(const sort_key& other) const {
    return std::tie(rank, whole, real, text) < std::tie(other.rank, other.whole, other.real, other.text);
}

item_places::sort_key item_places::sort_key_of(doc::ref value, std::string& text) {
    const auto rank = static_cast<int>(value.type()) * 4;
    if (value.is_string()) return {.rank = rank, .text = value.text()};
    if (value.is_bool()) return {.rank = rank, .whole = value.as_bool(false) ? 1 : 0};
    if (value.is_number()) {
        if (const auto whole = value.as_int()) return {.rank = rank, .whole = *whole};
        if (const auto real = value.as_double()) return {.rank = rank + 1, .real = *real};
        return {.rank = rank + 2, .text = value.text()};
    }
    if (!value.is_container()) return {.rank = rank};
    doc::append_sorted_json(text, value);
    return {.rank = rank, .text = text};
}

item_places::item_places(const item_list& list, std::string_view key) : list_(&list), key_(key) {
    if (list.size() <= short_list_max) return;
    sorted_.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const doc::ref value = key_of(list[i], key);
        if (!value) continue;
        if (value.is_container()) texts_.emplace_back();
        std::string none;
        sorted_.push_back({sort_key_of(value, value.is_container() ? texts_.back() : none), i});
    }
    std::ranges::stable_sort(sorted_, [](const entry& a, const entry& b) { return a.key < b.key; });
}

std::optional<std::size_t> item_places::find(doc::ref item) const {
    if (list_->size() <= short_list_max) {
        for (std::size_t i = 0; i < list_->size(); ++i) {
            if (same_item((*list_)[i], item, key_)) return i;
        }
        return std::nullopt;
    }
    const doc::ref value = key_of(item, key_);
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
    for (const doc::ref item : merged) {
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

namespace {

// Larger objects are not edited, which searches them for every member.
constexpr std::size_t edited_members_max = 32;

}  // namespace

doc::ref joined(doc::arena& memory, doc::ref below, doc::ref above) {
    if (above.empty()) return below;
    if (below.empty()) return above;
    if (above.size() <= edited_members_max) {
        doc::editor both = doc::editor::of(memory, below);
        for (const doc::member& m : above.members()) both.set(m.key(), m.value);
        return both;
    }
    doc::tree_builder both(memory);
    const std::size_t mark = both.mark();
    for (const doc::ref map : {below, above}) {
        for (const doc::member& m : map.members()) {
            both.push(m.name);
            both.push(m.value);
        }
    }
    both.drop_duplicates(mark);
    return both.close(doc::kind::object, mark);
}

using doc::ref;

object_draft::object_draft(doc::arena& memory, ref original)
    : memory_(&memory), members_(original.members().begin(), original.members().end()) {
    for (std::size_t i = 0; i < members_.size(); ++i) places_.emplace(members_[i].key(), i);
}

ref object_draft::get(std::string_view key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? ref{} : members_[found->second].value;
}

void object_draft::set(std::string_view key, ref value) {
    if (const auto found = places_.find(key); found != places_.end()) {
        if (ref& there = members_[found->second].value) {
            there = value;
            return;
        }
        places_.erase(found);  // what was removed comes back behind all others
    }
    const ref name = ref::make_string(memory_->copy(key));
    places_.emplace(name.text(), members_.size());
    members_.push_back({name, value});
}

void object_draft::remove(std::string_view key) {
    if (const auto found = places_.find(key); found != places_.end()) members_[found->second].value = ref{};
}

ref object_draft::close() const {
    doc::tree_builder out(*memory_);
    const std::size_t mark = out.mark();
    for (const doc::member& m : members_) {
        if (!m.value) continue;
        out.push(m.name);
        out.push(m.value);
    }
    return out.close(doc::kind::object, mark);
}

namespace {

using doc::editor;

constexpr std::string_view patch_directive = "$patch";
constexpr std::string_view retain_directive = "$retainKeys";
constexpr std::string_view order_directive = "$setElementOrder/";
constexpr std::size_t shown_key_bytes_max = 100;
constexpr std::string_view delete_directive = "$deleteFromPrimitiveList/";

base::result<ref> bad(std::string message) { return base::fail(base::errc::invalid, std::move(message)); }

bool is_directive(std::string_view key) {
    return key == patch_directive || key == retain_directive || key.starts_with(order_directive) ||
           key.starts_with(delete_directive);
}

// As a whole a directive: where there is nothing to replace or delete, it means nothing.
bool is_directed(ref value) { return value.is_object() && value.contains(patch_directive); }

item_list to_list(ref array) { return {array.items().begin(), array.items().end()}; }

class merger {
   public:
    merger(doc::arena& memory, const merge_schema& types) : memory_(memory), types_(types) {}

    base::result<ref> objects(ref original, ref patch, merge_type type);

   private:
    // A target is an editor or, of a large object, a draft.
    template <class Target>
    base::result<ref> members(Target& target, ref patch, merge_type type);
    template <class Target>
    base::result<ref> retain(Target& target, ref patch);
    template <class Target>
    base::result<ref> member(Target& target, std::string_view key, ref patch, const merge_field& field);
    template <class Target>
    base::result<ref> set_order(Target& target, std::string_view key, ref order, ref patch, const merge_field& field);
    template <class Target>
    base::result<ref> delete_values(Target& target, std::string_view key, ref values);
    template <class Target>
    void choose(Target& target, ref patch, choice one_of);
    base::result<ref> lists(ref original, ref patch, const merge_field& field);
    base::result<ref> keyed_lists(ref original, ref patch, const merge_field& field);
    ref array(const item_list& items);
    ref cleaned(ref patch);

    doc::arena& memory_;
    const merge_schema& types_;
    doc::tree_builder built_{memory_};
};

template <class F>
void remove_if(editor& target, const F& wrong) {
    for (std::size_t i = target.size(); i > 0; --i) {
        const std::string key{target.view().members()[i - 1].key()};
        if (wrong(key)) target.remove(key);
    }
}
template <class F>
void remove_if(object_draft& target, const F& wrong) {
    target.remove_if(wrong);
}

ref merger::array(const item_list& items) {
    editor out = editor::array(memory_);
    out.reserve(items.size());
    for (const ref item : items) out.append(item);
    return out;
}

// What a patch brings where the original has nothing: without nulls and directives.
ref merger::cleaned(ref patch) {
    if (patch.is_array()) {
        item_list items;
        bool changed = false;
        for (const ref item : patch.items()) {
            if (is_directed(item)) {
                changed = true;
                continue;
            }
            items.push_back(cleaned(item));
            changed = changed || !items.back().same(item);
        }
        return changed ? array(items) : patch;
    }
    if (!patch.is_object()) return patch;
    if (memory_.exceeded()) return patch;
    const std::size_t mark = built_.mark();
    bool changed = false;
    for (const auto& m : patch.members()) {
        const bool drop = m.value.is_null() || is_directive(m.key()) || is_directed(m.value);
        const ref after = drop ? ref{} : cleaned(m.value);
        changed = changed || drop || !after.same(m.value);
        if (drop) continue;
        built_.push(m.name);
        built_.push(after);
    }
    if (changed) return built_.close(doc::kind::object, mark);
    built_.drop(mark);
    return patch;
}

// $retainKeys: everything else goes; the patch may only touch what it retains.
template <class Target>
base::result<ref> merger::retain(Target& target, ref patch) {
    const ref keys = patch.get(retain_directive);
    if (!keys) return ref{};
    if (!keys.is_array()) return bad("$retainKeys must be a list");
    std::set<std::string_view> listed;
    for (const ref key : keys.items()) listed.insert(key.as_string());
    for (const auto& m : patch.members()) {
        if (m.value.is_null() || is_directive(m.key()) || listed.contains(m.key())) continue;
        return bad("the patch sets \"" + base::one_line(m.key(), shown_key_bytes_max) +
                   "\", which its $retainKeys does not list");
    }
    remove_if(target, [&](std::string_view key) { return !listed.contains(key); });
    return ref{};
}

// Removes from `target` the alternatives to what the patch sets.
template <class Target>
void merger::choose(Target& target, ref patch, choice one_of) {
    const auto alternative = [&](std::string_view key) {
        switch (one_of) {
            case choice::none: return false;
            case choice::any_member: return true;
            case choice::any_but_name: return key != "name";
            case choice::value_or_source: return key == "value" || key == "valueFrom";
        }
        return false;
    };
    const auto sets = [&](const doc::member& m) {
        return !m.value.is_null() && !is_directive(m.key()) && alternative(m.key());
    };
    if (one_of == choice::none || std::ranges::none_of(patch.members(), sets)) return;
    const doc::member_index kept(patch);
    remove_if(target, [&](std::string_view key) { return alternative(key) && kept.get(key).is_unset(); });
}

base::result<ref> merger::objects(ref original, ref patch, merge_type type) {
    if (auto good = check_memory(memory_); !good) return base::fail(std::move(good.error()));
    if (const ref directive = patch.get(patch_directive)) {
        if (directive.as_string() == "replace") return cleaned(patch);
        if (directive.as_string() == "delete") return ref::empty_object();
        if (directive.as_string() != "merge") return bad("$patch must be replace, merge or delete");
    }
    const auto plain = [](const doc::member& m) {
        return !m.value.is_null() && !m.value.is_container() && !is_directive(m.key());
    };
    if (type == nullptr && original.is_object() && std::ranges::all_of(patch.members(), plain)) {
        return joined(memory_, original, patch);
    }
    if (std::max(original.size(), patch.size()) > edited_members_max) {
        object_draft target(memory_, original);
        auto done = members(target, patch, type);
        return done ? target.close() : done;
    }
    editor target = original.is_object() ? editor::of(memory_, original) : editor::object(memory_);
    auto done = members(target, patch, type);
    return done ? target.view() : done;
}

template <class Target>
base::result<ref> merger::members(Target& target, ref patch, merge_type type) {
    if (auto done = retain(target, patch); !done) return done;
    if (type != nullptr) choose(target, patch, types_.one_of(type));
    const auto known = [&](std::string_view key) { return type == nullptr ? merge_field{} : types_.find(type, key); };
    const doc::member_index given(patch);
    std::set<std::string_view> in_order;
    for (const auto& m : patch.members()) {
        if (!m.key().starts_with(order_directive)) continue;
        const auto key = m.key().substr(order_directive.size());
        in_order.insert(key);
        if (auto done = set_order(target, key, m.value, given.get(key), known(key)); !done) return done;
    }
    for (const auto& m : patch.members()) {
        if (m.key().starts_with(delete_directive)) {
            const auto key = m.key().substr(delete_directive.size());
            if (auto done = delete_values(target, key, m.value); !done) return done;
        }
        if (is_directive(m.key()) || in_order.contains(m.key())) continue;
        if (auto done = member(target, m.key(), m.value, known(m.key())); !done) return done;
    }
    return ref{};
}

template <class Target>
base::result<ref> merger::member(Target& target, std::string_view key, ref patch, const merge_field& field) {
    if (patch.is_null()) {
        target.remove(key);
        return ref{};
    }
    const ref original = target.get(key);
    base::result<ref> merged = patch;
    if (original.type() != patch.type() && is_directed(patch)) {
        target.remove(key);
        return ref{};
    }
    if (original.type() != patch.type() || !patch.is_container()) {
        merged = cleaned(patch);
    } else if (patch.is_object()) {
        merged = objects(original, patch, field.of);
    } else {
        merged = lists(original, patch, field);
    }
    if (!merged) return merged;
    target.set(key, *merged);
    return ref{};
}

base::result<ref> merger::lists(ref original, ref patch, const merge_field& field) {
    if (field.rule == list_rule::replace) return patch;
    if (original.empty() && patch.empty()) return original;
    if (field.rule == list_rule::by_key) return keyed_lists(original, patch, field);
    item_list all = to_list(original);
    all.insert(all.end(), patch.items().begin(), patch.items().end());
    const item_places places(all, {});
    item_list merged;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (places.find(all[i]) == i) merged.push_back(all[i]);
    }
    return array(ordered(merged, to_list(patch), to_list(original), {}));
}

base::result<ref> merger::keyed_lists(ref original, ref patch, const merge_field& field) {
    item_list merged = to_list(original);
    item_list brought;
    item_list deleted;
    bool replace = false;
    for (const ref item : patch.items()) {
        if (!item.is_object()) return bad(std::string(field.name) + ": items must be objects");
        const auto directive = item.get(patch_directive).as_string();
        if (directive.empty()) {
            brought.push_back(item);
        } else if (directive == "replace") {
            replace = true;
        } else if (directive == "delete") {
            if (!item.contains(field.merge_key)) {
                return bad(std::string(field.name) + ": an item to delete has no " + std::string(field.merge_key));
            }
            deleted.push_back(item);
        } else {
            return bad(std::string(field.name) + ": $patch of an item must be replace or delete");
        }
    }
    if (replace) return cleaned(array(brought));
    if (!deleted.empty()) {
        const item_places gone(deleted, field.merge_key);
        std::erase_if(merged, [&](ref m) { return gone.find(m).has_value(); });
    }
    const item_list before = merged;
    const item_places in_before(before, field.merge_key);
    const item_places in_brought(brought, field.merge_key);
    std::vector<std::size_t> appended(brought.size());  // where the first item of that key went
    for (std::size_t i = 0; i < brought.size(); ++i) {
        const ref item = brought[i];
        if (!item.contains(field.merge_key)) {
            return bad(std::string(field.name) + ": an item of the patch has no " + std::string(field.merge_key));
        }
        const auto known = in_before.find(item);
        const std::size_t first = in_brought.find(item).value_or(i);
        if (!known && first == i) {
            appended[i] = merged.size();
            merged.push_back(cleaned(item));
            continue;
        }
        ref& there = merged[known ? *known : appended[first]];
        auto both = objects(there, item, field.of);
        if (!both) return both;
        there = *both;
    }
    return array(ordered(merged, brought, before, field.merge_key));
}

// $setElementOrder/key: merges the list and then gives it this order.
template <class Target>
base::result<ref> merger::set_order(Target& target, std::string_view key, ref order, ref patch,
                                    const merge_field& field) {
    if (!order.is_array()) return bad("$setElementOrder/" + std::string(key) + " must be a list");
    const ref original = target.get(key);
    if (!original && patch.is_unset()) return ref{};
    const item_list before = to_list(original);
    base::result<ref> merged = original;
    if (!original) {
        merged = cleaned(patch);
    } else if (!patch.is_unset()) {
        merged = lists(original, patch, field);
    }
    if (!merged) return merged;
    target.set(key, array(ordered(to_list(*merged), to_list(order), before, field.merge_key)));
    return ref{};
}

template <class Target>
base::result<ref> merger::delete_values(Target& target, std::string_view key, ref values) {
    if (!values.is_array()) return bad("$deleteFromPrimitiveList/" + std::string(key) + " must be a list");
    item_list left = to_list(target.get(key));
    const item_list listed = to_list(values);
    const item_places gone(listed, {});
    if (std::erase_if(left, [&](ref item) { return gone.find(item).has_value(); }) != 0) target.set(key, array(left));
    return ref{};
}

constexpr merge_schema known_types{
    .find = [](merge_type type, std::string_view member) -> merge_field {
        const field_info* const f = static_cast<const type_info*>(type)->find(member);
        return f == nullptr ? merge_field{} : merge_field{f->name, f->rule, f->merge_key, f->of};
    },
    .one_of = [](merge_type type) { return static_cast<const type_info*>(type)->one_of; }};

}  // namespace

base::result<ref> strategic_merge(doc::arena& memory, ref original, ref patch, const merge_schema& types,
                                  merge_type type) {
    if (!patch.is_object()) return bad("a patch must be an object, not " + std::string(to_string(patch.type())));
    return merger(memory, types).objects(original, patch, type);
}

base::result<ref> strategic_merge(doc::arena& memory, ref original, ref patch, const type_info& type) {
    return strategic_merge(memory, original, patch, known_types, &type);
}

}  // namespace cotrain::runtime
