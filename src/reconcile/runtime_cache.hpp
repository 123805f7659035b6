// Runtimes ready for planning: those of the stores, and those in snapshots; equal ones are kept once, and those that
// were not used for longest go when they are too large together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "runtime/compiled_runtime.hpp"
#include "watch/cluster.hpp"

namespace cotrain::reconcile {

class runtime_cache {
   public:
    using compiled = std::shared_ptr<const runtime::compiled_runtime>;

    // What compiled runtimes may take together; the last one is kept whatever its size.
    static constexpr std::size_t compiled_bytes_max = 16UL << 20U;

    explicit runtime_cache(watch::cluster& all, std::size_t bytes_max = compiled_bytes_max)
        : all_(all), bytes_max_(bytes_max) {}

    // The runtime that the job refers to, as it is now.
    [[nodiscard]] base::result<compiled> live(const api::train_job& job);
    struct snapshot {
        compiled runtime;
        std::string hash;
        bool immutable = false;  // as we make them, and nobody else
    };
    // The runtime in the job's snapshot, a ConfigMap as the API server sent it. `recorded`: the hash that it has to
    // have; empty: none was recorded yet.
    [[nodiscard]] base::result<snapshot> from_snapshot(const api::train_job& job, std::string_view config_map,
                                                       std::string_view recorded);

    // Whether plans with that runtime, named as runtime_key() does, take so much memory that few go on at a time.
    [[nodiscard]] bool is_large(watch::text_id key) const;
    // One that somebody remembers, used again; null if it was let go of.
    [[nodiscard]] compiled use(const std::weak_ptr<const runtime::compiled_runtime>& known);
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

   private:
    struct entry {
        std::uint64_t version = 0;
        watch::uid id{};
        std::weak_ptr<const runtime::compiled_runtime> made{};
        std::optional<base::error> failure{};
    };
    [[nodiscard]] base::result<compiled> compile(watch::kind of, const watch::object_record& record,
                                                 const watch::object_body& body) const;
    void keep(const compiled& made);
    void forget_dead();

    watch::cluster& all_;
    std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    std::list<compiled> kept_;  // the last used first
    std::unordered_map<const runtime::compiled_runtime*, std::list<compiled>::iterator> places_;
    std::unordered_map<std::string, entry> live_;                                                // by runtime_key()
    std::unordered_map<std::string, std::weak_ptr<const runtime::compiled_runtime>> snapshots_;  // by hash
};

}  // namespace cotrain::reconcile
