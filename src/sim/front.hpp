// Answers requests from a cluster, and keeps watches fed.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.hpp"
#include "sim/cluster.hpp"
#include "sim/discovery.hpp"
#include "sim/store.hpp"

namespace cotrain::sim {

// One watch: the changes that a client asked for, as lines of JSON. Pure: its owner says when to look.

// How objects are shown: whole, as metadata, as rows of a table.
using shower = std::function<std::string(const record& object, base::seconds_time now)>;

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
    [[nodiscard]] std::optional<std::string> next(base::seconds_time now);
    // A bookmark for now, if the client wants them.
    [[nodiscard]] std::optional<std::string> bookmark();
    [[nodiscard]] bool over() const { return over_; }
    [[nodiscard]] std::uint64_t version() const { return version_; }

   private:
    [[nodiscard]] std::string event(std::string_view type, const record& object, base::seconds_time now) const;
    [[nodiscard]] std::string bookmark_event(bool ends_initial) const;
    [[nodiscard]] std::optional<std::string> event_of(const change& what, base::seconds_time now) const;

    const cluster* cluster_;
    watch_wish wish_;
    std::deque<record_ptr> initial_;
    bool initial_open_ = false;  // the closing bookmark is still due
    std::uint64_t version_ = 0;
    bool over_ = false;
};

// The API server's HTTP face, without HTTP: questions in, answers and watches out.

struct question {
    std::string_view method;
    std::string_view target;  // path and query
    std::string_view accept{};
    std::string_view content_type{};
    std::string_view user_agent{};
    std::string_view body{};
};

struct answer {
    int status = 200;
    std::string body{};
    std::string content_type = "application/json";
    std::vector<std::string> warnings{};
    int retry_after_seconds = 0;
};

struct opened_watch {
    watch_wish wish;
    std::chrono::seconds timeout;
    std::string content_type = "application/json";
};
// A hook_call: it is to be made, and answered in the talk; then the same question is asked again.
using response = std::variant<answer, opened_watch, hook_call>;

// What a request is called in rules and counters.
struct request_name {
    std::string verb;      // get, list, watch, create, update, patch, delete; empty where there is no resource
    std::string resource;  // plural
};
[[nodiscard]] request_name name_request(std::string_view method, std::string_view target);

inline constexpr std::chrono::seconds watch_time_default{1800};
inline constexpr std::chrono::seconds watch_time_max{7200};

// Without a talk no webhooks are asked.
[[nodiscard]] response ask(cluster& of, const question& what, base::seconds_time now, admission_talk* talk = nullptr);

}  // namespace cotrain::sim
