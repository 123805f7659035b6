// What is known of the cluster: a store for each watched kind, kept up by events and by the answers to our own writes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/names.hpp"
#include "base/log.hpp"
#include "watch/intake.hpp"
#include "watch/kind.hpp"
#include "watch/object_store.hpp"
#include "watch/text_table.hpp"

namespace cotrain::reconcile {

// The kind of a type that is watched; nothing is asked for others.
[[nodiscard]] watch::kind kind_of(const api::resource_type& type);

class cluster {
   public:
    // The resourceVersion up to which events of a kind came in of a namespace; 0 where that is not known.
    using progress = std::function<std::uint64_t(watch::kind, std::string_view ns)>;

    // Why what the store of a kind shows is nothing to act upon; empty where it is.
    using doubts = std::function<std::string(watch::kind, std::string_view ns)>;

    using stores = std::array<watch::object_store*, watch::kinds>;

    cluster(watch::text_table& texts, const stores& all, base::logger& log);
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;

    [[nodiscard]] watch::text_table& texts() { return texts_; }
    [[nodiscard]] const watch::text_table& texts() const { return texts_; }
    [[nodiscard]] watch::object_store& store(watch::kind k) { return *stores_[static_cast<std::size_t>(k)]; }
    [[nodiscard]] const watch::object_store& store(watch::kind k) const {
        return *stores_[static_cast<std::size_t>(k)];
    }
    [[nodiscard]] const watch::object_record* find(watch::kind k, std::string_view ns, std::string_view name) const;
    // Whom want() tells.
    void on_want(std::function<void(watch::kind)> tell) { wanted_ = std::move(tell); }
    // An object of the kind is to be made: the API server may know the kind by now.
    void want(watch::kind k) const {
        if (wanted_) wanted_(k);
    }
    // Whether changes of a kind come in at present.
    using liveness = std::function<bool(watch::kind, std::string_view ns)>;

    void follow(progress of, doubts about = {}, liveness comes = {}) {
        progress_ = std::move(of);
        doubts_ = std::move(about);
        comes_ = std::move(comes);
    }
    [[nodiscard]] bool following(watch::kind k, std::string_view ns) const { return !comes_ || comes_(k, ns); }
    [[nodiscard]] std::string doubt(watch::kind k, std::string_view ns) const {
        return doubts_ ? doubts_(k, ns) : std::string();
    }

    // Nothing more is wanted of the JobSet of a finished job that has its last counts: its record is enough.
    void settle(watch::text_id job);

    // Takes in the API server's answer to one of our writes and wakes nobody. An answer that is not newer than the
    // events is left out: what came in already says the same, or that the object changed or went since.
    // Returns the object's resourceVersion; 0 if the answer is no object.
    std::uint64_t note(watch::kind of, std::string_view object);
    // Takes in what a store had let go of (watch/finished.hpp) and no event will tell again. What is known of it by now
    // stays, and one that went since it was asked for does not come back. `since`: from before it was asked for.
    void restore(watch::kind of, const watch::deletion_watch& since, std::string_view object);
    // The API server says that there is none, which no event may tell of one that was restored.
    void drop(watch::kind of, std::string_view ns, std::string_view name);

   private:
    struct silence final : watch::listener {
        void changed(const watch::object_change&) override {}
        void removed(watch::kind, const watch::object_record&) override {}
        void synced(watch::kind) override {}
        void missing(watch::kind) override {}
    };

    watch::text_table& texts_;
    silence nobody_;
    stores stores_;
    std::array<std::unique_ptr<watch::intake>, watch::kinds> intakes_;
    progress progress_;
    std::function<void(watch::kind)> wanted_;
    doubts doubts_;
    liveness comes_;
};

}  // namespace cotrain::reconcile
