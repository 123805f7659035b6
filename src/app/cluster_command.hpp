// What commands share that talk to a cluster once: their options, and the way to the API server.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "app/command.hpp"
#include "base/asio.hpp"
#include "kube/client.hpp"

namespace cotrain::app {

struct text_option {
    std::string_view name;  // "--kubeconfig"
    std::string* to;
};

// "--name value" and "--name=value"; flags take no value and are set to "true". Errors name `command`.
[[nodiscard]] base::result<> read_text_options(std::string_view command, arguments words,
                                               std::span<const text_option> options,
                                               std::span<const text_option> flags = {});

// Whether one of the words asks for help.
[[nodiscard]] bool asks_for_help(arguments words);

// Finds the cluster, runs `work` with a client of it to its end, and hangs up. Fails where there is nobody to ask.
using cluster_work = std::function<awaitable<void>(kube::client*, const kube::cluster_config*)>;
[[nodiscard]] base::result<> with_cluster(const std::string& kubeconfig, const std::string& context,
                                          const cluster_work& work);

}  // namespace cotrain::app
