// The order in which the items of merged lists stand.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/tree.hpp"

namespace cotrain::runtime {

using item_list = std::vector<api::ref>;

// Whether both are the same item: equal values of `key`, or equal scalars where there is no key.
[[nodiscard]] bool same_item(api::ref a, api::ref b, std::string_view key);

// Where items are in a list, found without comparing all of them: lists of runtimes may have tens of thousands.
class item_places {
   public:
    // `list` must outlive this.
    item_places(const item_list& list, std::string_view key);
    // The place of the first item that is the same.
    [[nodiscard]] std::optional<std::size_t> find(api::ref item) const;

   private:
    const item_list* list_;
    std::string_view key_;
    std::vector<std::pair<std::size_t, std::size_t>> by_hash_{};  // hash and place; none for short lists
};

// `merged` in the order the API server gives it: items named in `leading` in that order, the others in the order of
// `original`; the two runs are interleaved by `original`, with the leading ones first where it does not know.
[[nodiscard]] item_list ordered(const item_list& merged, const item_list& leading, const item_list& original,
                                std::string_view key);

}  // namespace cotrain::runtime
