// What a cluster has of one TrainJob: the job, its runtime, its children. For commands that explain and compare.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/names.hpp"
#include "api/trainjob.hpp"
#include "base/asio.hpp"
#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"
#include "kube/client.hpp"
#include "runtime/phases.hpp"

namespace cotrain::app {

// Options of commands that look at objects of a cluster, as kubectl has them.
struct cluster_options {
    std::string kubeconfig{};
    std::string context{};
    std::string ns{};  // empty: the context's
};

struct found_object {
    const api::resource_type* type = nullptr;
    std::string name;
    doc::ref document;      // absent: not there, or it could not be read
    std::string trouble{};  // why it could not be read
};

class cluster_objects {
   public:
    explicit cluster_objects(kube::client& api) : api_(api) {}

    // The object, parsed; absent where there is none. Of Secrets that somebody owns only the metadata
    // is read.
    [[nodiscard]] awaitable<base::result<doc::ref>> get(const api::resource_type* type, std::string ns,
                                                        std::string name);
    // Everything that the job may own, in the order of the plugins' table.
    [[nodiscard]] awaitable<std::vector<found_object>> children(std::span<const runtime::child> of, std::string ns,
                                                                std::string job);
    // TrainingRuntime or ClusterTrainingRuntime by the reference of a TrainJob.
    [[nodiscard]] awaitable<base::result<doc::ref>> runtime_of(doc::ref train_job, std::string ns);

   private:
    kube::client& api_;
    doc::arena memory_{doc::arena_bytes_max};
};

}  // namespace cotrain::app
