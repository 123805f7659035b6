// The order in which the items of merged lists stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/tree.hpp"

namespace cotrain::runtime {

using item_list = std::vector<api::ref>;

// Whether both are the same item: equal values of `key`, or equal scalars where there is no key.
[[nodiscard]] bool same_item(api::ref a, api::ref b, std::string_view key);

// Where items are in a list, found without comparing all of them: lists of runtimes may have tens of thousands. By
// order, not by hash: names are foreign input, and could all have the same hash.
class item_places {
   public:
    // `list` must outlive this.
    item_places(const item_list& list, std::string_view key);
    // The place of the first item that is the same.
    [[nodiscard]] std::optional<std::size_t> find(api::ref item) const;

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
    [[nodiscard]] static sort_key sort_key_of(api::ref value, std::string& text);

    const item_list* list_;
    std::string_view key_;
    std::vector<entry> sorted_{};  // by key and place; none for short lists
    std::deque<std::string> texts_{};
};

// `merged` in the order the API server gives it: items named in `leading` in that order, the others in the order of
// `original`; the two runs are interleaved by `original`, with the leading ones first where it does not know.
[[nodiscard]] item_list ordered(const item_list& merged, const item_list& leading, const item_list& original,
                                std::string_view key);

}  // namespace cotrain::runtime
