// Looking up many members of one object, or items of one list: foreign input must not cost a square.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "doc/tree.hpp"

namespace cotrain::doc {

// Valid while the object does not change. Small objects are searched, larger ones sorted once.
class member_index {
   public:
    static constexpr std::size_t searched_members_max = 16;

    explicit member_index(ref object) : object_(object) {
        if (object.size() <= searched_members_max || !object.is_object()) return;
        sorted_.reserve(object.size());
        for (const member& m : object.members()) sorted_.push_back(&m);
        std::ranges::stable_sort(sorted_, {}, &member::key);
    }

    [[nodiscard]] ref get(std::string_view key) const {
        if (sorted_.empty()) return object_.get(key);
        const auto found = std::ranges::lower_bound(sorted_, key, {}, &member::key);
        return found == sorted_.end() || (*found)->key() != key ? ref{} : (*found)->value;
    }
    [[nodiscard]] bool contains(std::string_view key) const { return static_cast<bool>(get(key)); }

   private:
    ref object_;
    std::vector<const member*> sorted_{};
};

// The same for the items of a list by their member "name"; of several with one name the first counts.
class name_index {
   public:
    static constexpr std::size_t searched_items_max = 16;

    explicit name_index(ref list) : list_(list) {
        if (list.size() <= searched_items_max || !list.is_array()) return;
        sorted_.reserve(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            const ref name = list.at(i).get("name");
            if (name.is_string()) sorted_.push_back({name.text(), i});
        }
        std::ranges::stable_sort(sorted_, {}, &entry::name);
    }

    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
        if (list_.size() <= searched_items_max) return list_.index_by("name", name);
        const auto found = std::ranges::lower_bound(sorted_, name, {}, &entry::name);
        if (found == sorted_.end() || found->name != name) return std::nullopt;
        return found->place;
    }
    [[nodiscard]] bool contains(std::string_view name) const { return find(name).has_value(); }

   private:
    struct entry {
        std::string_view name;
        std::size_t place;
    };
    ref list_;
    std::vector<entry> sorted_{};
};

}  // namespace cotrain::doc
