// Strategic merge: how a patch changes a document of a type whose lists have merge keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {

using item_list = std::vector<doc::ref>;

// Whether both are the same item: equal values of `key`, or equal scalars where there is no key.
[[nodiscard]] bool same_item(doc::ref a, doc::ref b, std::string_view key);

// Where items are in a list, found without comparing all of them: lists of runtimes may have tens of thousands. By
// order, not by hash: names are foreign input, and could all have the same hash.
class item_places {
   public:
    // `list` must outlive this.
    item_places(const item_list& list, std::string_view key);
    // The place of the first item that is the same.
    [[nodiscard]] std::optional<std::size_t> find(doc::ref item) const;

   private:
    // What tells one item from another; equal values have equal keys.
    struct sort_key {
        int rank = 0;
        std::int64_t whole = 0;
        double real = 0;
        std::string_view text{};

        [[nodiscard]] bool operator<(const sort_key& other) const;
    };
    struct entry {
        sort_key key;
        std::size_t place;
    };
    // `text` holds the key's text where the value has none of its own.
    [[nodiscard]] static sort_key sort_key_of(doc::ref value, std::string& text);

    const item_list* list_;
    std::string_view key_;
    std::vector<entry> sorted_{};  // by key and place; none for short lists
    std::deque<std::string> texts_{};
};

// `merged` in the order the API server gives it: items named in `leading` in that order, the others in the order of
// `original`; the two runs are interleaved by `original`, with the leading ones first where it does not know.
[[nodiscard]] item_list ordered(const item_list& merged, const item_list& leading, const item_list& original,
                                std::string_view key);

// The members of both objects; of two with the same name that of `above`, in the place where `below` had it.
[[nodiscard]] doc::ref joined(doc::arena& memory, doc::ref below, doc::ref above);

// Like an editor of a copy; editors, which search, do for small objects.
class object_draft {
   public:
    // `original` may be absent.
    object_draft(doc::arena& memory, doc::ref original);

    [[nodiscard]] doc::ref get(std::string_view key) const;
    // In its place where it is a member, else behind all others.
    void set(std::string_view key, doc::ref value);
    void remove(std::string_view key);
    // Removes the members whose name `wrong` is true for.
    template <class F>
    void remove_if(const F& wrong) {
        for (doc::member& m : members_) {
            if (m.value && wrong(m.key())) m.value = doc::ref{};
        }
    }
    // The object as it is now.
    [[nodiscard]] doc::ref close() const;

   private:
    doc::arena* memory_;
    std::vector<doc::member> members_;  // a removed one keeps its place, without a value
    std::map<std::string_view, std::size_t> places_;
};

// A type whose documents are merged, as its merge_schema knows it; null: nothing is known of it.
using merge_type = const void*;

struct merge_field {
    std::string_view name{};
    list_rule rule = list_rule::replace;
    std::string_view merge_key{};
    merge_type of = nullptr;  // of an object or of the items of a list
};

// What a merge asks about types: of type_info here, of the schemas that the embedded API server serves there.
struct merge_schema {
    merge_field (*find)(merge_type type, std::string_view member) = nullptr;
    choice (*one_of)(merge_type type) = nullptr;
};

// The API server's strategic merge patch, directives included ($patch, $retainKeys, $setElementOrder/…,
// $deleteFromPrimitiveList/…), with its order of list items: those of the patch lead where the original says nothing.
// Beyond it: a volume or env entry given another source loses the old one (contract, difference 12).
// The result shares with both; an original that `memory` may still edit is changed in place.
[[nodiscard]] base::result<doc::ref> strategic_merge(doc::arena& memory, doc::ref original, doc::ref patch,
                                                     const type_info& type);
// By another schema. `type` may be null.
[[nodiscard]] base::result<doc::ref> strategic_merge(doc::arena& memory, doc::ref original, doc::ref patch,
                                                     const merge_schema& types, merge_type type);

}  // namespace cotrain::runtime
