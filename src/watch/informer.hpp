// Keeps the stores up: an informer lists and watches one kind, informers all kinds.
#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/cancellation_signal.hpp>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "kube/client.hpp"
#include "kube/pacing.hpp"
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
    std::vector<std::string_view> child_suffixes{};
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
        synced,    // a relist was completed once; the store may be behind since
        missing,   // the server does not know the kind
        forbidden  // we may not list or watch it
    };

    informer(kind of, object_store& store, const informer_tools& tools, const informer_options& options = {});

    void start();
    // Waits for the first relist, or the next while the kind is missing; false when cancelled. Any number wait.
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
    // Of the API, in which the kind was asked for last.
    [[nodiscard]] std::string_view version() const { return resource_.version; }
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
    [[nodiscard]] base::result<page_trailer> take_page(const std::string& page);
    void completed();
    void restarted();
    [[nodiscard]] bool try_other_version();
    void become(state s);
    void count(counted c) { ++events_[static_cast<std::size_t>(c)]; }

    kind of_;
    kube::resource resource_;
    bool other_tried_ = false;  // this version is asked for because the other is missing
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

// --- all kinds -----------------------------------------------------------------------------------------------------

using kind_set = std::bitset<kinds>;
// All but those that nobody may watch.
[[nodiscard]] kind_set watched_kinds();

// What specs may take: those of runtimes that tenants make in their namespaces, of the cluster's, of TrainJobs and of
// their suspended JobSets.
struct kept_bounds {
    spec_bounds of_namespaces{8UL << 20U, 32UL << 20U};
    spec_bounds of_cluster{32UL << 20U, 32UL << 20U};
    spec_bounds of_jobs{4UL << 20U, 16UL << 20U};
    spec_bounds of_job_sets{4UL << 20U, 16UL << 20U};
    // Of a process with so much memory: an eighth for each kind of runtime, half as much for each of the others, and of
    // one namespace at most a quarter of that.
    [[nodiscard]] static kept_bounds of_process(std::uint64_t memory_bytes);
};

struct informers_options {
    kind_set watched = watched_kinds();
    list_watch_options timing{};
    // Each has a watch of its own for each kind. Empty: all namespaces by one watch. Cluster-wide kinds are watched as
    // ever, but none of them has to be there: a role for some namespaces may not allow to read them.
    std::vector<std::string> namespaces{};
    kept_bounds kept{};
    // How names of Secrets and ConfigMaps end that may be children of TrainJobs; others are kept only when one controls
    // them. The texts outlive the informers.
    std::vector<std::string_view> child_suffixes{};
    // Between two requests for runtimes that were left out: one tenant can bring those of others in and out.
    std::chrono::milliseconds refill_pause{100};
};

// Lives until its task group has been joined.
class informers final : private listener {
   public:
    explicit informers(const informer_tools& tools, const informers_options& options = {});

    void start();
    // Waits until every required kind is in sync, and of the others it is known whether there are any. False when
    // cancelled.
    [[nodiscard]] awaitable<bool> ready();
    [[nodiscard]] bool is_ready() const;
    // Required kinds that the server does not know.
    [[nodiscard]] std::vector<kind> missing() const;

    // Somebody needs objects of a kind that may be missing: it is looked for soon, and often for a while.
    void want(kind k);

    // Of a kind that is not watched: an empty store, and no informer.
    // By namespaces: the informer of that one, null if it is not looked at.
    // To be changed by answers to our own writes only, see watch::cluster.
    [[nodiscard]] object_store& store(kind k) { return own(k); }
    [[nodiscard]] const object_store& store(kind k) const { return places_[static_cast<std::size_t>(k)]->objects; }
    [[nodiscard]] const informer* of(kind k, std::string_view ns = {}) const;
    [[nodiscard]] std::span<const std::unique_ptr<informer>> all_of(kind k) const {
        return places_[static_cast<std::size_t>(k)]->watchers;
    }
    [[nodiscard]] std::size_t memory_bytes() const;

   private:
    void changed(const object_change& what) override { to_.changed(what); }
    void removed(kind of, const object_record& last) override { to_.removed(of, last); }
    void synced(kind of) override;
    void missing(kind of) override { to_.missing(of); }

    struct place {
        explicit place(text_table& texts) : objects(texts) {}
        place(text_table& texts, spec_bounds most) : objects(texts, most, [this] { room.notify_later(); }) {}
        place(text_table& texts, spec_bounds most, object_store::bodies_without_specs of) : objects(texts, most, of) {}
        base::signal room;  // for specs that were left out
        object_store objects;
        std::vector<std::unique_ptr<informer>> watchers;
    };
    [[nodiscard]] object_store& own(kind k) { return places_[static_cast<std::size_t>(k)]->objects; }
    // Asks for specs that were left out when there is room for them.
    [[nodiscard]] awaitable<void> refill(kind k);
    [[nodiscard]] awaitable<bool> read_again(kind k, std::string ns, std::string name);
    [[nodiscard]] bool required(kind k) const;
    [[nodiscard]] bool all_synced(kind k) const;

    listener& to_;
    base::task_group& owner_;
    kube::client& api_;
    base::random_source& random_;
    base::logger& log_;
    const text_table& texts_;
    base::backoff_policy retry_;
    std::chrono::milliseconds refill_pause_;
    bool by_namespace_;
    std::array<std::unique_ptr<place>, kinds> places_;
};

}  // namespace cotrain::watch
