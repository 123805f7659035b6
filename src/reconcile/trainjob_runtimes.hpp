// Runtimes ready for planning: those of the stores, and those in snapshots; equal ones are kept once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "reconcile/cluster.hpp"
#include "runtime/compiled_runtime.hpp"

namespace cotrain::reconcile {

class runtime_cache {
   public:
    using compiled = std::shared_ptr<const runtime::compiled_runtime>;

    explicit runtime_cache(cluster& all) : all_(all) {}

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

    [[nodiscard]] std::size_t size() const { return live_.size(); }

   private:
    struct entry {
        std::uint64_t version = 0;
        watch::uid id{};
        base::result<compiled> made;
    };
    [[nodiscard]] base::result<compiled> compile(watch::kind of, const watch::object_record& record,
                                                 const watch::object_body& body) const;
    void forget_dead();

    cluster& all_;
    std::unordered_map<std::string, entry> live_;                                                // by runtime_key()
    std::unordered_map<std::string, std::weak_ptr<const runtime::compiled_runtime>> snapshots_;  // by their text
};

}  // namespace cotrain::reconcile
