// Lists and watches one kind for as long as it is wanted, and hands on each object as it came.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/task_group.hpp"
#include "kube/client.hpp"
#include "watch/list_watch.hpp"

namespace cotrain::ui {

// Called from the event loop. Objects are views: they dangle once the call returns.
class follower_sink {
   public:
    virtual void begin_relist() = 0;
    virtual void put(const watch::object_view& object) = 0;
    virtual void remove(const watch::object_view& object) = 0;
    // What was not put since begin_relist() is gone.
    virtual void end_relist() = 0;
    // Nothing came in, but how things stand is another.
    virtual void stands() = 0;

   protected:
    ~follower_sink() = default;
};

// The decisions are those of watch::list_watch; it never gives up. A watch whose peer is dead ends by the client's own
// bounds: pings, and the watch's timeout with its grace.
class follower {
   public:
    enum class state : std::uint8_t {
        loading,
        synced,
        behind,     // synced once, and cannot follow now
        missing,    // the server does not know the kind
        forbidden,  // we may not list or watch it
    };

    // `ns` and `labels`, a selector: empty: all.
    follower(const kube::resource& of, std::string ns, std::string labels, follower_sink& to, kube::client& api,
             base::logger& log);

    void start(base::task_group& owner) { owner.spawn("follower", run()); }
    [[nodiscard]] state now() const { return state_; }
    // Why it is not in sync, for people.
    [[nodiscard]] const std::string& last_error() const { return machine_.last_error(); }

   private:
    [[nodiscard]] awaitable<void> run();
    [[nodiscard]] awaitable<void> perform(watch::list_watch::action what);
    [[nodiscard]] awaitable<void> list(watch::list_watch::action what);
    [[nodiscard]] awaitable<void> watch(watch::list_watch::action what);
    // Whether the watch goes on.
    [[nodiscard]] base::result<bool> take(std::string_view line);
    void failed(const base::error& why);
    void become(state s);

    kube::resource of_;
    std::string ns_;
    std::string labels_;
    follower_sink& to_;
    kube::client& api_;
    base::logger& log_;
    base::random_source random_ = base::random_source::from_system();
    watch::list_watch machine_{watch::list_watch_options{}};
    watch::event_view event_;
    state state_ = state::loading;
};

[[nodiscard]] std::string_view to_string(follower::state s);

}  // namespace cotrain::ui
