// Listing and watching one kind of object as a state machine: answers, lines and time go in, requests to make come out.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/backoff.hpp"
#include "base/error.hpp"
#include "watch/decode.hpp"

namespace cotrain::watch {

using moment = std::chrono::steady_clock::time_point;

// Why a list or watch had to begin again; the values of the label `reason` of cotrain_watch_restarts_total.
enum class restart_reason : std::uint8_t {
    ended,         // the server closed the watch, as it does now and then
    expired,       // 410: our place in history is gone
    connection,    // no connection, or it broke
    server_error,  // 5xx, or a Status inside the watch
    throttled,     // 429, also while a restarted server fills its storage
    garbled,       // bytes that are no event
    too_large,     // a line above the bound
    stalled,       // silence where something had to come
    unauthorized,  // 401 or 403
    missing,       // 404: the server does not know the kind
    unsupported,   // it cannot stream the initial state: lists from now on
    refused        // anything else
};
inline constexpr std::size_t restart_reasons = 12;
[[nodiscard]] std::string_view to_string(restart_reason r);

struct list_watch_options {
    std::uint32_t page_items = 500;
    std::chrono::seconds watch_timeout{290};         // asked for, times a random factor in [1, 2)
    std::chrono::seconds close_grace{30};            // beyond which a server that should have closed counts as gone
    std::chrono::milliseconds initial_idle{60'000};  // silence while the initial state streams in
    std::chrono::seconds initial_max{180};           // until its end has to be there
    std::chrono::seconds retry_after_max{60};
    // A server that comes back, and rights that are given back, are noticed within these. Ten kinds together cost it
    // four requests a second, at most.
    base::backoff_policy retry{std::chrono::milliseconds(500), std::chrono::milliseconds(4'000), 2.0, 0.5};
    base::backoff_policy denied{std::chrono::milliseconds(500), std::chrono::milliseconds(8'000), 2.0, 0.5};
    // After what cost the server much: an initial state that broke off, and requests that it will refuse again.
    base::backoff_policy costly{std::chrono::milliseconds(500), std::chrono::milliseconds(30'000), 2.0, 0.5};
    base::backoff_policy missing{std::chrono::milliseconds(500), std::chrono::milliseconds(5'000), 2.0, 0.5};
    // Of a kind that is not needed: one that is missing, and one that we may not read and never read.
    base::backoff_policy unneeded{std::chrono::milliseconds(500), std::chrono::milliseconds(360'000), 2.0, 1.0 / 3};
    bool needed = true;                // always; else want() says when
    std::chrono::minutes wanted{20};   // so long after each want(): longer than any retry of who wants it
    bool stream_initial_state = true;  // try WatchList (KEP-3157) first
};

// What an answer means for the store, in kube-rs' words (Init, InitApply, InitDone, Apply, Delete).
enum class watcher_event : std::uint8_t {
    none,
    init,        // a relist begins: from now on mark what is seen
    init_apply,  // an object of the relist
    init_done,   // the relist is complete: remove what was not seen since `init`; the store is in sync
    apply,
    remove
};

// What a list_watch is about, each with what is known then.
namespace watcher {

// What comes after a pause.
struct relist {};
struct next_page {
    std::string token;
};
struct resume {};  // a watch from the last known version on
using plan = std::variant<relist, next_page, resume>;

// Nothing is under way.
struct idle {
    plan then{};
    bool at_once = false;                   // without the delay that is due
    std::chrono::milliseconds at_least{0};  // the server's own wish
    std::optional<moment> until{};          // once the delay is chosen
};
// A page of a list is asked for; the first has no token.
struct init_page {
    std::string token;
};
// A watch sends the initial state (WatchList).
struct initial_watch {
    moment silent_until;
    moment done_until;   // its end has to be there
    bool began = false;  // something came
};
struct watching {
    moment silent_until;
    bool progress = false;  // since the watch was opened
};

}  // namespace watcher

// Never gives up. What is in the store stays until init_done shows what is gone. One request at a time; the caller
// reports how it went before it asks for the next action.
class list_watch {
   public:
    enum class ask : std::uint8_t {
        list,    // GET one page, then page_done() or failed()
        watch,   // open a watch, then event() for each line, ended() or failed()
        wait,    // call next() again at `until`
        answer,  // a request is under way; next() again at `until` if nothing came
        abandon  // close what is under way and report nothing of it; then next() again
    };
    struct action {
        ask what = ask::answer;
        moment until{};
        bool init = false;                // watcher_event::init comes first; a watch sends the initial events, too
        std::string resource_version{};   // of a watch without initial events
        std::string continue_token{};     // of a list
        std::uint32_t limit = 0;          // of a list
        std::chrono::seconds timeout{0};  // of a watch
    };
    struct outcome {
        watcher_event event = watcher_event::none;
        bool close = false;  // close the watch and report nothing more of it
    };

    explicit list_watch(list_watch_options options)
        : options_(options),
          retry_(options.retry),
          denied_(options.denied),
          costly_(options.costly),
          missing_pause_(options.missing),
          unneeded_(options.unneeded),
          page_items_(options.page_items),
          streams_(options.stream_initial_state) {}

    [[nodiscard]] action next(moment now, base::random_source& random);
    // After the page's items went into the store as init_apply: init_done if it was the last page.
    [[nodiscard]] watcher_event page_done(const page_trailer& page);
    [[nodiscard]] outcome event(const event_view& event, moment now);
    void ended(moment now);
    // Objects of this kind are needed: a kind that is missing or denied is asked for again soon, and at once if it was
    // not just asked for. Call next() again when this says true.
    [[nodiscard]] bool want(moment now);
    // Another kind could be read: rights may have come. The same.
    [[nodiscard]] bool ask_rights_again(moment now);
    // A request or stream failed; also a line that is no event (errc::decode) or too long (errc::too_large).
    void failed(const base::error& why, moment now);

    // A request is under way, as far as was reported.
    [[nodiscard]] bool under_way() const { return !std::holds_alternative<idle>(state_); }
    // Whether init_done came once; the store may be behind since.
    [[nodiscard]] bool synced() const { return synced_; }
    // Whether the server said last that it does not know the kind.
    [[nodiscard]] bool missing() const { return missing_; }
    [[nodiscard]] bool streams_initial_state() const { return streams_; }
    [[nodiscard]] const std::string& resource_version() const { return version_; }
    [[nodiscard]] std::uint64_t restarts(restart_reason r) const { return restarts_[static_cast<unsigned>(r)]; }
    // The last restart, for the log.
    [[nodiscard]] restart_reason last_reason() const { return last_reason_; }
    [[nodiscard]] const std::string& last_error() const { return last_error_; }

   private:
    using idle = watcher::idle;
    using init_page = watcher::init_page;
    using initial_watch = watcher::initial_watch;
    using watching = watcher::watching;

    [[nodiscard]] action begin_relist(moment now);
    [[nodiscard]] action list_page(std::string token);
    [[nodiscard]] action watch_on(moment now, base::random_source& random);
    [[nodiscard]] action stalled();
    void done(std::string version);
    void restart(restart_reason why, watcher::plan then, const base::error* e = nullptr, bool at_once = false);
    void progressed();
    [[nodiscard]] base::backoff& pace(moment now);
    [[nodiscard]] bool rest_until(moment earlier);
    void failed_in(const init_page& state, restart_reason why, const base::error& e);
    void failed_in(const initial_watch& state, restart_reason why, const base::error& e);
    void failed_in(const watching& state, restart_reason why, const base::error& e);
    void failed_in(const idle& state, restart_reason why, const base::error& e);

    list_watch_options options_;
    base::backoff retry_, denied_, costly_, missing_pause_, unneeded_;
    unsigned failures_ = 0;  // in a row
    moment asked_at_{};      // when the last request was made
    moment wanted_until_{};
    std::variant<idle, init_page, initial_watch, watching> state_{idle{.until = moment::min()}};
    bool costly_failure_ = false;  // what comes next is to come late
    std::string version_;
    std::uint32_t page_items_;  // fewer than asked for by the options once a page was too large
    bool streams_;
    bool synced_ = false;
    bool missing_ = false;
    unsigned stream_failures_ = 0;  // initial states that ended early, in a row
    unsigned expired_pages_ = 0;    // in a row
    unsigned resume_failures_ = 0;  // in a row, by the server's doing
    std::array<std::uint64_t, restart_reasons> restarts_{};
    restart_reason last_reason_ = restart_reason::ended;
    std::string last_error_;
};

// What a failure of a request or stream counts as.
[[nodiscard]] restart_reason reason_of(const base::error& e);

}  // namespace cotrain::watch
