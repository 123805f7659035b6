// What is known of the cluster: a store for each watched kind, kept up by events and by the answers to our own writes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/names.hpp"
#include "base/log.hpp"
#include "watch/intake.hpp"
#include "watch/kind.hpp"
#include "watch/object_store.hpp"
#include "watch/text_table.hpp"

namespace cotrain::watch {

// The kind of a type of which records are kept; nothing for others.
[[nodiscard]] std::optional<kind> find_kind(const api::resource_type& type);
// Of a type that is one of those: another is a mistake of the caller.
[[nodiscard]] kind kind_of(const api::resource_type& type);

// "namespace" and "name" of a key.
struct key_parts {
    std::string_view ns;
    std::string_view name;
};
[[nodiscard]] key_parts split_key(std::string_view key);

class cluster {
   public:
    // The resourceVersion up to which events of a kind came in of a namespace; 0 where that is not known.
    using progress = std::function<std::uint64_t(kind, std::string_view ns)>;

    // Why what the store of a kind shows is nothing to act upon; empty where it is.
    using doubts = std::function<std::string(kind, std::string_view ns)>;

    using stores = std::array<object_store*, kinds>;

    // `child_suffixes`: see informers_options.
    cluster(text_table& texts, const stores& all, base::logger& log,
            const std::vector<std::string_view>& child_suffixes = {});
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;

    [[nodiscard]] text_table& texts() { return texts_; }
    [[nodiscard]] const text_table& texts() const { return texts_; }
    [[nodiscard]] object_store& store(kind k) { return *stores_[static_cast<std::size_t>(k)]; }
    [[nodiscard]] const object_store& store(kind k) const { return *stores_[static_cast<std::size_t>(k)]; }
    [[nodiscard]] const object_record* find(kind k, std::string_view ns, std::string_view name) const;
    // Whom want() tells.
    void on_want(std::function<void(kind)> tell) { wanted_ = std::move(tell); }
    // An object of the kind is to be made: the API server may know the kind by now.
    void want(kind k) const {
        if (wanted_) wanted_(k);
    }
    // Whether changes of a kind come in at present.
    using liveness = std::function<bool(kind, std::string_view ns)>;

    // The version of its API in which the server has a kind; empty: it does not know the kind.
    using versions = std::function<std::string_view(kind)>;

    void on_version(versions of) { versions_ = std::move(of); }
    [[nodiscard]] std::string_view version_of(kind k) const { return versions_ ? versions_(k) : info_of(k).of.version; }
    void follow(progress of, doubts about = {}, liveness comes = {}) {
        progress_ = std::move(of);
        doubts_ = std::move(about);
        comes_ = std::move(comes);
    }
    [[nodiscard]] bool following(kind k, std::string_view ns) const { return !comes_ || comes_(k, ns); }
    [[nodiscard]] std::string doubt(kind k, std::string_view ns) const {
        return doubts_ ? doubts_(k, ns) : std::string();
    }

    // What the answer to one of our own requests changed in a store. Its event changes nothing any more.
    void on_answer(std::function<void(const object_change&)> tell) { answers_.tell = std::move(tell); }
    // Takes in the API server's answer to one of our requests. An answer that is not newer than the events is left
    // out: what came in already says the same, or that the object changed or went since.
    // Returns the object's resourceVersion; 0 if the answer is no object.
    std::uint64_t note(kind of, std::string_view object);
    // Takes in an object of which no further event may come. What is known of it by now stays, and one that was deleted
    // since it was asked for does not come back. `since`: from before it was asked for.
    void restore(kind of, const deletion_watch& since, std::string_view object);
    // The API server says that there is none; of one that was restored no event may say so.
    void drop(kind of, std::string_view ns, std::string_view name);

   private:
    struct answers final : listener {
        void changed(const object_change& what) override {
            if (tell) tell(what);
        }
        void removed(kind, const object_record&) override {}
        void synced(kind) override {}
        void missing(kind) override {}

        std::function<void(const object_change&)> tell;
    };

    text_table& texts_;
    answers answers_;
    stores stores_;
    std::array<std::unique_ptr<intake>, kinds> intakes_;
    progress progress_;
    std::function<void(kind)> wanted_;
    doubts doubts_;
    liveness comes_;
    versions versions_;
};

}  // namespace cotrain::watch
