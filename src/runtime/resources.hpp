// What pods ask for: merged requirements, requests of a pod, sums over a gang, counts of GPUs and CPUs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/arena.hpp"
#include "api/quantity.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"

namespace cotrain::runtime {

// Resource by resource, sorted by name: the order in which sums are written.
class resource_list {
   public:
    using entry = std::pair<std::string, api::quantity>;

    resource_list() = default;
    explicit resource_list(std::vector<entry> entries);  // in any order, no name twice

    [[nodiscard]] const std::vector<entry>& entries() const { return entries_; }
    [[nodiscard]] bool empty() const { return entries_.empty(); }
    [[nodiscard]] const api::quantity* find(std::string_view name) const;
    void set(std::string_view name, const api::quantity& amount);
    void add(const resource_list& other);
    void add_missing(const resource_list& other);
    void raise_to(const resource_list& other);  // keeps the larger ones
    void multiply(std::int64_t factor);
    // The name of a resource whose amount is beyond what a quantity holds; null if there is none.
    [[nodiscard]] const std::string* overflowed() const;
    // {"cpu": "6", …}
    [[nodiscard]] api::ref document(api::arena& memory) const;

   private:
    api::quantity& at(std::string_view name, bool& is_new);
    template <class F>
    void join(const resource_list& other, const F& both);
    std::vector<entry> entries_{};
};

// `base` with the limits and requests of `over` laid on it by name, claims by theirs. `path` leads to `over`.
[[nodiscard]] base::result<api::ref> merge_resources(api::arena& memory, api::ref base, api::ref over,
                                                     std::string_view path);

// Of a container's or pod's `resources`: the request, or the limit where there is no request (contract, difference 9).
[[nodiscard]] base::result<resource_list> requests_of(api::ref resources);

// What the scheduler counts for one pod: containers and sidecars together, or the largest init container with the
// sidecars before it; pod-level resources over that; overhead on top.
[[nodiscard]] base::result<resource_list> pod_requests(api::ref pod_spec);

// GPUs of a container's `resources`: the request, else the limit. Of several resources whose name contains "gpu",
// nvidia.com/gpu counts first, then the first by name (contract, difference 20).
[[nodiscard]] std::int64_t gpus_of(api::ref resources);
// CPUs, rounded up: the request, else the limit; 0 if there is neither.
[[nodiscard]] std::int64_t cpus_of(api::ref resources);

}  // namespace cotrain::runtime
