// Keeps the store of one kind like the API server's: performs what its list/watch machine asks for.
#pragma once

#include <array>
#include <boost/asio/cancellation_signal.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/task_group.hpp"
#include "kube/client.hpp"
#include "kube/sleepers.hpp"
#include "watch/intake.hpp"
#include "watch/list_watch.hpp"

namespace cotrain::watch {

// The values of the label `type` of cotrain_watch_events_total.
enum class counted : std::uint8_t { added, modified, deleted, bookmark, error, unknown, listed };
inline constexpr std::size_t counted_types = 7;
[[nodiscard]] std::string_view to_string(counted c);

struct informer_options {
    list_watch_options timing{};
    std::string ns{};  // empty: all namespaces
};

// What every informer of an operator shares; all of it outlives them.
struct informer_tools {
    base::task_group& owner;
    kube::client& api;
    text_table& texts;
    listener& to;
    base::random_source& random;
    base::logger& log;
};

// Never gives up: what goes wrong is counted, logged once for each reason in a row, and tried again with backoff.
// Lives until its task group has been joined.
class informer {
   public:
    enum class state : std::uint8_t {
        starting,  // nothing conclusive was heard yet
        synced,    // the store has shown a whole picture; it may be behind since
        missing,   // the server does not know the kind
        forbidden  // we may not list or watch it
    };

    // `jobs`: see intake.
    informer(kind of, object_store& store, const informer_tools& tools, const informer_options& options = {},
             const object_store* jobs = nullptr);

    void start();
    // Waits for the first whole picture, or the next while the kind is missing; false when cancelled. Any number wait.
    [[nodiscard]] awaitable<bool> synced();
    // Waits until the state is not `starting`; false when cancelled.
    [[nodiscard]] awaitable<bool> settled();
    // Somebody needs objects of this kind, which may be missing; see list_watch.
    void want();
    void ask_rights_again();
    // An object of the store as it is now, besides what the watch shows; false if it is none.
    [[nodiscard]] bool take_again(std::string_view object);

    [[nodiscard]] kind of() const { return of_; }
    [[nodiscard]] const std::string& ns() const { return ns_; }  // empty: all
    [[nodiscard]] state now() const { return state_; }
    [[nodiscard]] bool in_sync() const { return state_ == state::synced; }
    [[nodiscard]] bool missing() const { return state_ == state::missing; }
    // In sync, and still allowed to follow.
    [[nodiscard]] bool trusted() const { return in_sync() && !denied_; }
    // The server has accepted the watch that is under way: what changes comes in.
    [[nodiscard]] bool following() const { return in_sync() && open_; }
    [[nodiscard]] const object_store& store() const { return store_; }
    // Up to which events came in.
    [[nodiscard]] const std::string& resource_version() const { return machine_.resource_version(); }
    // Why it is not in sync, for people; empty if nothing went wrong.
    [[nodiscard]] const std::string& last_error() const { return machine_.last_error(); }

    [[nodiscard]] std::uint64_t events(counted c) const { return events_[static_cast<std::size_t>(c)]; }
    [[nodiscard]] std::uint64_t restarts(restart_reason r) const { return machine_.restarts(r); }
    [[nodiscard]] std::uint64_t malformed() const { return intake_.malformed(); }

   private:
    enum class ending : std::uint8_t { clean, told };  // of a watch: by the server, by the machine

    [[nodiscard]] awaitable<void> run();
    [[nodiscard]] awaitable<void> perform(list_watch::action what);
    [[nodiscard]] awaitable<void> oversee();
    [[nodiscard]] awaitable<void> list(list_watch::action what);
    [[nodiscard]] awaitable<void> watch(list_watch::action what);
    [[nodiscard]] awaitable<base::result<ending>> read(list_watch::action what);
    [[nodiscard]] awaitable<void> made_mistake(std::string what);
    [[nodiscard]] base::result<bool> take(std::string_view line);
    [[nodiscard]] base::result<page_reader::trailer> take_page(const std::string& page);
    void completed();
    void restarted();
    void become(state s);
    void count(counted c) { ++events_[static_cast<std::size_t>(c)]; }

    kind of_;
    base::task_group& owner_;
    object_store& store_;
    kube::client& api_;
    base::random_source& random_;
    base::logger& log_;
    std::string ns_;
    intake intake_;
    list_watch machine_;
    state state_ = state::starting;
    event_view event_;
    kube::sleepers waiting_;
    asio::steady_timer rest_;      // between two requests
    asio::steady_timer overseer_;  // when to look after the watch that is open
    asio::cancellation_signal stop_reading_;
    bool reading_ = false;
    bool open_ = false;    // what is read has been accepted
    bool denied_ = false;  // the last request was not allowed
    bool abandoned_ = false;
    std::array<std::uint64_t, counted_types> events_{};
    restart_reason logged_ = restart_reason::ended;  // last
};

}  // namespace cotrain::watch
