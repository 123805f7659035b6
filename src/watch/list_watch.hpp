// Listing and watching one kind of object as a state machine: answers, lines and time go in, requests to make come out.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/backoff.hpp"
#include "base/error.hpp"
#include "watch/object_view.hpp"

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
    // Of a kind that nobody needs: one that is missing, and one that we may not read and never read.
    base::backoff_policy unneeded{std::chrono::milliseconds(500), std::chrono::milliseconds(360'000), 2.0, 1.0 / 3};
    bool needed = true;                // always; else want() says when
    std::chrono::minutes wanted{20};   // so long after each want(): longer than any retry of who wants it
    bool stream_initial_state = true;  // try WatchList (KEP-3157) first
};

// Never gives up. What is in the store stays until a complete list, or the end of the initial events, shows what is
// gone. One request at a time; the caller reports how it went before it asks for the next action.
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
        bool begins = false;              // a new picture starts: from now on mark what is seen
        bool initial_events = false;      // of a watch: sendInitialEvents
        std::string resource_version{};   // of a watch; empty with initial events
        std::string continue_token{};     // of a list
        std::uint32_t limit = 0;          // of a list
        std::chrono::seconds timeout{0};  // of a watch
    };
    // What an event or a page means for the store.
    struct verdict {
        enum class change : std::uint8_t { none, upsert, remove };
        change object = change::none;
        bool complete = false;  // sweep what was not seen since the picture began; the store is in sync now
        bool close = false;     // close the watch and report nothing more of it
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
    // After the page's items went into the store.
    [[nodiscard]] verdict page_done(const page_reader::trailer& page);
    [[nodiscard]] verdict event(const event_view& event, moment now);
    void ended(moment now);
    // Somebody needs objects of this kind: one that is missing or denied is asked for again soon, and at once if it was
    // not just asked for. Call next() again when this says true.
    [[nodiscard]] bool want(moment now);
    // Another kind could be read: rights may have come. The same.
    [[nodiscard]] bool ask_rights_again(moment now);
    // A request or stream failed; also a line that is no event (errc::decode) or too long (errc::too_large).
    void failed(const base::error& why, moment now);

    // A request is under way, as far as was reported.
    [[nodiscard]] bool under_way() const { return state_ != state::resting; }
    // Whether the store has shown a whole picture once; it may be behind since.
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
    enum class state : std::uint8_t { resting, listing, streaming, following };
    enum class plan : std::uint8_t { picture, page, resume };

    [[nodiscard]] action begin_picture(moment now);
    [[nodiscard]] action list_page(bool begins);
    [[nodiscard]] action follow(moment now, base::random_source& random);
    [[nodiscard]] verdict completed(std::string version);
    void restart(restart_reason why, plan then, std::string message, std::chrono::milliseconds at_least = {});
    void progressed();
    [[nodiscard]] base::backoff& pace(moment now);
    [[nodiscard]] bool rest_until(moment earlier);
    void list_failed(restart_reason why, const base::error& e);
    void stream_failed(restart_reason why, const base::error& e);
    void follow_failed(restart_reason why, const base::error& e);

    list_watch_options options_;
    base::backoff retry_, denied_, costly_, missing_pause_, unneeded_;
    unsigned failures_ = 0;  // in a row
    moment asked_at_{};      // when the last request was made
    moment wanted_until_{};
    state state_ = state::resting;
    plan plan_ = plan::picture;
    moment rest_until_{};
    std::chrono::milliseconds at_least_{0};  // the server's own wish for the coming rest
    bool rest_chosen_ = true;                // rest_until_ holds
    bool rest_short_ = false;                // no delay this time
    bool costly_failure_ = false;            // what comes next is to come late
    moment silent_until_{};
    moment picture_until_{};  // the end of the initial events has to be there
    std::string version_;
    std::string token_;
    std::uint32_t page_items_;  // fewer than asked for by the options once a page was too large
    bool streams_;
    bool synced_ = false;
    bool missing_ = false;
    bool progress_ = false;         // since the watch was opened
    bool began_ = false;            // of an initial state: something came
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
