// The way to the API server of commands that talk to a cluster once.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "app/command.hpp"
#include "base/asio.hpp"
#include "kube/client.hpp"

namespace cotrain::app {

// Somebody waits for the answer: a port that refuses is told after one more try, a server that is silent within
// seconds, and no command of this kind takes longer than this in all.
inline constexpr std::chrono::seconds command_time_max{60};
inline constexpr std::chrono::seconds command_request_time_max{10};

enum class patience : std::uint8_t {
    brief,     // with the bounds above
    unbounded  // writes many objects, and goes on after a lost connection as the operator does
};

// Finds the cluster, runs `work` with a client of it to its end, and hangs up. Fails where there is nobody to ask.
using cluster_work = std::function<awaitable<void>(kube::client*, const kube::cluster_config*)>;
[[nodiscard]] base::result<> with_cluster(const std::string& kubeconfig, const std::string& context,
                                          const cluster_work& work, patience with = patience::brief);

}  // namespace cotrain::app
