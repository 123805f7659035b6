// One watch: the changes that a client asked for, as lines of JSON. Pure: whoever owns it says when to look.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "sim/cluster.hpp"
#include "sim/selector.hpp"

namespace cotrain::sim {

// How objects are shown: whole, as metadata, as rows of a table.
using shower = std::function<std::string(const record& object, api::seconds_time now)>;

struct watch_wish {
    const kind* of = nullptr;
    const kind* shown = nullptr;  // the form in which objects are shown, where it is another one
    std::string ns{};
    selector wanted{};
    std::optional<std::uint64_t> from{};  // none: the objects of now first, as added
    bool bookmarks = false;
    bool initial_events = false;  // WatchList (KEP-3157): a bookmark says when the initial ones are through
    shower show{};
};

class watcher {
   public:
    watcher(const cluster& of, watch_wish wish);

    // The next event with its newline; nothing for now. After an error nothing comes any more.
    [[nodiscard]] std::optional<std::string> next(api::seconds_time now);
    // A bookmark for now, if the client wants them.
    [[nodiscard]] std::optional<std::string> bookmark();
    [[nodiscard]] bool over() const { return over_; }
    [[nodiscard]] std::uint64_t version() const { return version_; }

   private:
    [[nodiscard]] std::string event(std::string_view type, const record& object, api::seconds_time now) const;
    [[nodiscard]] std::string bookmark_event(bool ends_initial) const;
    [[nodiscard]] std::optional<std::string> event_of(const change& what, api::seconds_time now) const;

    const cluster* cluster_;
    watch_wish wish_;
    std::deque<record_ptr> initial_;
    bool initial_open_ = false;  // the closing bookmark is still due
    std::uint64_t version_ = 0;
    bool over_ = false;
};

}  // namespace cotrain::sim
