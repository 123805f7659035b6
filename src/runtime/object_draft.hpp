// An object that is changed member by member, however many it has: lookups and removals by name stay cheap.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "api/arena.hpp"
#include "api/tree.hpp"

namespace cotrain::runtime {

// Like an editor of a copy; editors, which search, do for small objects.
class object_draft {
   public:
    // `original` may be absent.
    object_draft(api::arena& memory, api::ref original);

    [[nodiscard]] api::ref get(std::string_view key) const;
    // In its place where it is a member, else behind all others.
    void set(std::string_view key, api::ref value);
    void remove(std::string_view key);
    // Removes the members whose name `wrong` is true for.
    template <class F>
    void remove_if(const F& wrong) {
        for (api::member& m : members_) {
            if (m.value && wrong(m.key())) m.value = api::ref{};
        }
    }
    // The object as it is now.
    [[nodiscard]] api::ref close() const;

   private:
    api::arena* memory_;
    std::vector<api::member> members_;  // a removed one keeps its place, without a value
    std::map<std::string_view, std::size_t> places_;
};

}  // namespace cotrain::runtime
