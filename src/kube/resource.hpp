// Which kind of object a request is about, and the path where the API server keeps it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace cotrain::kube {

// Meant for constants: the texts must outlive every use.
struct resource {
    std::string_view group;  // empty: the core group
    std::string_view version;
    std::string_view plural;
    std::string_view kind;  // for messages
    bool namespaced = true;
};

inline constexpr std::size_t name_bytes_max = 253;  // of objects; label-like names are shorter still

// One object, or without a name the collection: of one namespace, or without a namespace of the whole cluster.
struct location {
    std::string_view ns{};
    std::string_view name{};
    std::string_view sub_resource{};
};

// Refuses what could leave its place in the path: empty names of objects, ".", "..", '/', '%', control bytes.
[[nodiscard]] base::result<std::string> path_of(const resource& of, const location& at);
// "/api/v1" or "/apis/<group>/<version>".
[[nodiscard]] std::string version_path(std::string_view group, std::string_view version);
// "JobSet ns/name", "JobSet ns/name/status", "JobSet in ns", "JobSet": for messages.
[[nodiscard]] std::string describe(const resource& of, const location& at);
void append_description(std::string& text, const resource& of, const location& at);

}  // namespace cotrain::kube
