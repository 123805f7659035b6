// All informers of an operator and their stores, wired together: construct, start, wait, look things up.
#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/signal.hpp"
#include "watch/informer.hpp"

namespace cotrain::watch {

using kind_set = std::bitset<kinds>;
// All but those that nobody may watch.
[[nodiscard]] kind_set watched_kinds();

// What specs of runtimes may take: of those that tenants make in their namespaces, and of the cluster's.
struct runtime_bounds {
    spec_bounds of_namespaces{8UL << 20U, 32UL << 20U};
    spec_bounds of_cluster{32UL << 20U, 32UL << 20U};
    // Of a process with so much memory: an eighth each, and of one namespace at most a quarter of that.
    [[nodiscard]] static runtime_bounds of_process(std::uint64_t memory_bytes);
};

struct informers_options {
    kind_set watched = watched_kinds();
    list_watch_options timing{};
    // Each has a watch of its own for each kind. Empty: all namespaces by one watch. Cluster-wide kinds are watched as
    // ever, but none of them has to be there: whoever may look at some namespaces only may not read them, perhaps.
    std::vector<std::string> namespaces{};
    runtime_bounds runtimes{};
    // Between two requests for runtimes that were left out: one tenant can bring those of others in and out.
    std::chrono::milliseconds refill_pause{100};
};

// What `tools.to` hears, it hears after the stores agree with each other: a finished job's JobSet has been collapsed or
// dropped. Lives until its task group has been joined.
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
    // To be changed by answers to our own writes only, see reconcile::cluster.
    [[nodiscard]] object_store& store(kind k) { return own(k); }
    [[nodiscard]] const object_store& store(kind k) const { return places_[static_cast<std::size_t>(k)]->objects; }
    [[nodiscard]] const informer* of(kind k, std::string_view ns = {}) const;
    [[nodiscard]] std::span<const std::unique_ptr<informer>> all_of(kind k) const {
        return places_[static_cast<std::size_t>(k)]->watchers;
    }
    [[nodiscard]] std::size_t memory_bytes() const;

   private:
    void changed(const object_change& what) override;
    void removed(kind of, const object_record& last) override { to_.removed(of, last); }
    void synced(kind of) override;
    void missing(kind of) override { to_.missing(of); }

    struct place {
        explicit place(text_table& texts) : objects(texts) {}
        place(text_table& texts, spec_bounds most) : objects(texts, most, [this] { room.notify_later(); }) {}
        base::signal room;  // for specs that were left out
        object_store objects;
        std::vector<std::unique_ptr<informer>> watchers;
    };
    [[nodiscard]] object_store& own(kind k) { return places_[static_cast<std::size_t>(k)]->objects; }
    void settle(const object_record& job);
    void start_files();
    // Asks for specs that were left out when there is room for them.
    [[nodiscard]] awaitable<void> refill(kind k);
    [[nodiscard]] awaitable<bool> read_again(kind k, std::string ns, std::string name);
    [[nodiscard]] bool required(kind k) const;
    [[nodiscard]] bool all_synced(kind k) const;

    listener& to_;
    base::task_group& owner_;
    kube::client& api_;
    base::random_source& random_;
    const text_table& texts_;
    base::backoff_policy retry_;
    std::chrono::milliseconds refill_pause_;
    bool by_namespace_;
    std::array<std::unique_ptr<place>, kinds> places_;
    bool files_started_ = false;
};

}  // namespace cotrain::watch
