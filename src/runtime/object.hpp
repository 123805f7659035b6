// An object to be applied, and how children of a TrainJob begin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/edit.hpp"
#include "api/names.hpp"
#include "api/trainjob.hpp"

namespace cotrain::runtime {

// Server-side apply sends `json` as it is.
struct object {
    const api::resource_type* type = nullptr;
    std::string name;
    std::string json;
};

using object_list = std::vector<object>;

// Type, name, namespace and the owner reference to the job. A job from a file has no uid yet, and owns nothing: the
// API server refuses references without one.
[[nodiscard]] api::editor new_child(api::arena& memory, const api::resource_type& type, std::string_view name,
                                    const api::train_job& job);
// Its JSON; of one that is too large the beginning, which refuse_oversized() refuses.
[[nodiscard]] object finish(const api::resource_type& type, std::string_view name, const api::editor& document);

// The name of a child: the job's and a suffix.
[[nodiscard]] std::string child_name(const api::train_job& job, std::string_view suffix);

// Data of a ConfigMap or Secret may hold that much (MaxSecretSize of the API server).
inline constexpr std::size_t config_bytes_max = 1024UL * 1024;

}  // namespace cotrain::runtime
