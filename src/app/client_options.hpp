// How the operator's client is set up by its configuration.
#pragma once

#include "app/operator.hpp"
#include "kube/client.hpp"

namespace cotrain::app {

[[nodiscard]] inline kube::client_options client_options_of(const configuration& config) {
    kube::client_options out;
    out.user_agent = kube::user_agent(COTRAIN_VERSION);
    out.limit = request_limit(config.client);
    return out;
}

}  // namespace cotrain::app
