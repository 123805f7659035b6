// Walks original and patch together, guided by the schema.
#include "runtime/merge.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/edit.hpp"
#include "api/member_index.hpp"
#include "api/tree_builder.hpp"
#include "runtime/bounds.hpp"
#include "runtime/merge_maps.hpp"
#include "runtime/merge_order.hpp"
#include "runtime/object_draft.hpp"

namespace cotrain::runtime {
namespace {

using api::editor;
using api::ref;

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
    explicit merger(api::arena& memory) : memory_(memory) {}

    base::result<ref> objects(ref original, ref patch, const type_info* type);

   private:
    // A target is an editor or, of a large object, a draft.
    template <class Target>
    base::result<ref> members(Target& target, ref patch, const type_info* type);
    template <class Target>
    base::result<ref> retain(Target& target, ref patch);
    template <class Target>
    base::result<ref> member(Target& target, std::string_view key, ref patch, const field_info* field);
    template <class Target>
    base::result<ref> set_order(Target& target, std::string_view key, ref order, ref patch, const field_info* field);
    template <class Target>
    base::result<ref> delete_values(Target& target, std::string_view key, ref values);
    template <class Target>
    void choose(Target& target, ref patch, const type_info& type);
    base::result<ref> lists(ref original, ref patch, const field_info* field);
    base::result<ref> keyed_lists(ref original, ref patch, const field_info& field);
    ref array(const item_list& items);
    ref cleaned(ref patch);

    api::arena& memory_;
    api::tree_builder built_{memory_};
};

// Larger objects are not edited, which searches them for every member.
constexpr std::size_t edited_members_max = 32;

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
    if (changed) return built_.close(api::kind::object, mark);
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
void merger::choose(Target& target, ref patch, const type_info& type) {
    const auto alternative = [&](std::string_view key) {
        switch (type.one_of) {
            case choice::none: return false;
            case choice::any_member: return true;
            case choice::any_but_name: return key != "name";
            case choice::value_or_source: return key == "value" || key == "valueFrom";
        }
        return false;
    };
    const auto sets = [&](const api::member& m) {
        return !m.value.is_null() && !is_directive(m.key()) && alternative(m.key());
    };
    if (type.one_of == choice::none || std::ranges::none_of(patch.members(), sets)) return;
    const api::member_index kept(patch);
    remove_if(target, [&](std::string_view key) { return alternative(key) && kept.get(key).is_unset(); });
}

base::result<ref> merger::objects(ref original, ref patch, const type_info* type) {
    if (auto good = check_memory(memory_); !good) return base::fail(std::move(good.error()));
    if (const ref directive = patch.get(patch_directive)) {
        if (directive.as_string() == "replace") return cleaned(patch);
        if (directive.as_string() == "delete") return ref::empty_object();
        if (directive.as_string() != "merge") return bad("$patch must be replace, merge or delete");
    }
    const auto plain = [](const api::member& m) {
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
base::result<ref> merger::members(Target& target, ref patch, const type_info* type) {
    if (auto done = retain(target, patch); !done) return done;
    if (type != nullptr) choose(target, patch, *type);
    const auto known = [&](std::string_view key) { return type == nullptr ? nullptr : type->find(key); };
    const api::member_index given(patch);
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
base::result<ref> merger::member(Target& target, std::string_view key, ref patch, const field_info* field) {
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
        merged = objects(original, patch, field == nullptr ? nullptr : field->of);
    } else {
        merged = lists(original, patch, field);
    }
    if (!merged) return merged;
    target.set(key, *merged);
    return ref{};
}

base::result<ref> merger::lists(ref original, ref patch, const field_info* field) {
    if (field == nullptr || field->rule == list_rule::replace) return patch;
    if (original.empty() && patch.empty()) return original;
    if (field->rule == list_rule::by_key) return keyed_lists(original, patch, *field);
    item_list all = to_list(original);
    all.insert(all.end(), patch.items().begin(), patch.items().end());
    const item_places places(all, {});
    item_list merged;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (places.find(all[i]) == i) merged.push_back(all[i]);
    }
    return array(ordered(merged, to_list(patch), to_list(original), {}));
}

base::result<ref> merger::keyed_lists(ref original, ref patch, const field_info& field) {
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
                                    const field_info* field) {
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
    const auto merge_key = field == nullptr ? std::string_view{} : field->merge_key;
    target.set(key, array(ordered(to_list(*merged), to_list(order), before, merge_key)));
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

}  // namespace

base::result<ref> strategic_merge(api::arena& memory, ref original, ref patch, const type_info& type) {
    if (!patch.is_object()) return bad("a patch must be an object, not " + std::string(to_string(patch.type())));
    return merger{memory}.objects(original, patch, &type);
}

}  // namespace cotrain::runtime
