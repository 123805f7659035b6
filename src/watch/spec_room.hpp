// Which specs of one kind are kept where all of them are too large together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "watch/text_table.hpp"

namespace cotrain::watch {

struct spec_bounds {
    std::size_t namespace_bytes = 0;
    std::size_t all_bytes = 0;
};

// Of each namespace the smallest specs are kept, as many as fit into its share; of equal ones the first by name. The
// share is the namespace's bound, halved until the shares that are in use fit into the bound of all. So what is kept
// follows from what there is, never from the order in which it came; and who has little keeps all of it, whatever
// others have. Without memory put() changes nothing, and what a change means for others waits for the next one.
class spec_room {
   public:
    // `drop` gets the spec that has to go; `wanted` is called when one that was left out has room now.
    struct listener {
        std::function<void(text_id)> drop;
        std::function<void()> wanted;
    };
    spec_room(const text_table& texts, spec_bounds most, listener to);
    spec_room(const spec_room&) = delete;
    spec_room& operator=(const spec_room&) = delete;

    // An object with its spec, new or as it is now. Its key ("namespace/name") is in use until erase().
    void put(text_id key, std::size_t bytes);
    void erase(text_id key);
    // Nothing is called any more.
    void close() { to_ = {}; }

    // Whether the spec that was put is kept.
    [[nodiscard]] bool holds(text_id key) const;
    // Whether there is room for a spec that was left out.
    [[nodiscard]] bool wants(text_id key) const { return wanted_.contains(key); }
    // One of those, the next behind that key; no_text: none.
    [[nodiscard]] text_id next_wanted(text_id after) const;

    [[nodiscard]] std::size_t bytes() const { return bytes_; }  // kept or wanted
    [[nodiscard]] std::size_t left_out() const { return left_out_; }
    struct standing {
        std::size_t bytes = 0;            // of this spec
        std::size_t namespace_bytes = 0;  // of all in its namespace
        std::size_t share_bytes = 0;      // what a namespace may keep at present
    };
    [[nodiscard]] std::optional<standing> about(text_id key) const;

   private:
    struct item {
        std::size_t bytes;
        text_id key;
    };
    struct smaller {
        const text_table* texts;
        bool operator()(const item& a, const item& b) const {
            return a.bytes != b.bytes ? a.bytes < b.bytes : texts->view(a.key) < texts->view(b.key);
        }
    };
    struct share {
        explicit share(const text_table& texts) : all(smaller{&texts}), rest(all.end()) {}
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        std::set<item, smaller> all;
        std::set<item, smaller>::iterator rest;  // the first that is left out
        std::size_t total = 0;
        std::size_t kept = 0;
    };
    struct known {
        std::size_t bytes = 0;
        bool held = false;
    };
    static constexpr std::size_t halvings = 64;

    [[nodiscard]] std::string_view namespace_of(text_id key) const;
    [[nodiscard]] std::size_t share_bytes() const { return most_.namespace_bytes >> halved_; }
    void add(share& to, std::set<item, smaller>::node_type node);
    void take(share& from, const item& what);
    void total_changes(share& of, std::size_t total);
    // Decides anew: in one namespace, or in all where the share has changed.
    void decide(share& where, text_id at_hand);
    void settle(share& of, text_id at_hand);
    void leave_out(share& of);
    void admit(share& to, text_id at_hand);

    const text_table& texts_;
    spec_bounds most_;
    listener to_;
    std::map<std::string, share, std::less<>> shares_;
    std::unordered_map<text_id, known> known_;
    std::set<text_id> wanted_;
    std::array<std::size_t, halvings> used_{};  // what all namespaces would take with the share halved that often
    unsigned halved_ = 0;
    std::size_t bytes_ = 0;
    std::size_t left_out_ = 0;
    bool unsettled_ = false;    // there was no memory to decide
    bool more_wanted_ = false;  // something is wanted since `wanted` was told
};

}  // namespace cotrain::watch
