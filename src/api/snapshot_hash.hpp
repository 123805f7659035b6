// What is recorded of a TrainJob's runtime snapshot, in a field that only who may write its status can change.
#pragma once

#include <string>
#include <string_view>

namespace cotrain::api::names {

inline constexpr std::string_view snapshot_hash_member = "runtimeSnapshotHash";  // of the status

}  // namespace cotrain::api::names

namespace cotrain::api {

// SHA-256 in hex of the text in a snapshot.
[[nodiscard]] std::string snapshot_hash(std::string_view text);

}  // namespace cotrain::api
