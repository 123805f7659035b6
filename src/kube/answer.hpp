// Small facts read out of the API server's answers: list metadata, what a group serves, the server's version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace cotrain::kube {

// metav1.ListMeta.
struct list_head {
    std::string resource_version;
    std::string continue_token;  // empty: this was the last page
    std::int64_t remaining = 0;
};

// Skips the items without decoding them; they may even be broken.
[[nodiscard]] base::result<list_head> read_list_head(std::string_view body);

struct served_resource {
    std::string name;  // "jobsets" or "jobsets/status"
    std::string kind;
    bool namespaced = false;
    std::vector<std::string> verbs;
};

inline constexpr std::size_t served_resources_max = 4096;

// An APIResourceList.
[[nodiscard]] base::result<std::vector<served_resource>> read_served_resources(std::string_view body);

struct server_version {
    unsigned major = 0;
    unsigned minor = 0;       // the vendors' "30+" reads as 30
    std::string git_version;  // "v1.36.3"
};

[[nodiscard]] base::result<server_version> read_server_version(std::string_view body);

// metadata.uid and metadata.resourceVersion of an object, for preconditions and bookkeeping.
struct object_head {
    std::string uid;
    std::string resource_version;
};

[[nodiscard]] base::result<object_head> read_object_head(std::string_view body);

}  // namespace cotrain::kube
