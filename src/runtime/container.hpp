// Containers: how plugins fill them in, how many processes they run, and what they ask for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/pod_shape.hpp"
#include "api/quantity.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/edit.hpp"
#include "doc/tree.hpp"

namespace cotrain::runtime {

// A container of the template that is being filled in. Entries that are put in replace those with the same key
// (name of a variable, number of a port, path of a mount) in their place, else come last.
class container {
   public:
    container() = default;
    explicit container(doc::editor document) : document_(document) {}

    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(document_); }
    [[nodiscard]] std::string_view name() const { return document_.get("name").as_string(); }
    [[nodiscard]] doc::ref view() const { return document_.view(); }
    // The value of a variable that is set to a text.
    [[nodiscard]] doc::ref env(std::string_view variable) const;

    void put_env(doc::word variable, std::string_view value);
    // Only where the container has no variable of that name.
    void put_env_default(doc::word variable, std::string_view value);
    void put_env_field(doc::word variable, doc::word field_path);
    // The entries of an `env` list in a TrainJob, in the form which the reference gives them.
    void put_env_list(doc::ref entries);
    void put_port(std::int32_t number);
    void put_mount(std::string_view volume, std::string_view path, bool read_only = false);

    void set_image(std::string_view image);
    // An empty list takes the member away.
    void set_command(doc::ref words);
    void set_args(doc::ref words);
    void add_secret_env(std::string_view secret);
    void set_resources(doc::ref resources);

   private:
    doc::editor document_;
};

// An entry of a TrainJob's `env` as the reference writes it into a container: `value` gives way to `valueFrom`,
// fieldRef loses its apiVersion, divisor is always there. Sources and members that we do not know stay.
[[nodiscard]] doc::ref plain_env_entry(doc::arena& memory, doc::ref entry);

// {"name": name, source: {}}, the source to be filled in by the caller; it replaces the pod's volume of that name.
doc::editor put_volume(doc::editor pod_spec, std::string_view name, std::string_view source);

// spec.trainer.numProcPerNode, else the word that admission moved into an annotation; unset where there is neither.
[[nodiscard]] api::process_count wanted_processes(const api::train_job& job);

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
    [[nodiscard]] doc::ref document(doc::arena& memory) const;

   private:
    api::quantity& at(std::string_view name, bool& is_new);
    template <class F>
    void join(const resource_list& other, const F& both);
    std::vector<entry> entries_{};
};

// `base` with the limits and requests of `over` laid on it by name, claims by theirs. `path` leads to `over`.
[[nodiscard]] base::result<doc::ref> merge_resources(doc::arena& memory, doc::ref base, doc::ref over,
                                                     std::string_view path);

// Of a container's or pod's `resources`: the request, or the limit where there is no request (contract, difference 9).
[[nodiscard]] base::result<resource_list> requests_of(doc::ref resources);

// What the scheduler counts for one pod: containers and sidecars together, or the largest init container with the
// sidecars before it; pod-level resources over that; overhead on top.
[[nodiscard]] base::result<resource_list> pod_requests(doc::ref pod_spec);

// GPUs of a container's `resources`: the request, else the limit. Of several resources whose name contains "gpu",
// nvidia.com/gpu counts first, then the first by name (contract, difference 20).
[[nodiscard]] std::int64_t gpus_of(doc::ref resources);
// CPUs, rounded up: the request, else the limit; 0 if there is neither.
[[nodiscard]] std::int64_t cpus_of(doc::ref resources);

}  // namespace cotrain::runtime
