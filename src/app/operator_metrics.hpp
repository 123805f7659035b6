// What the operator's parts count, under the names of the ecosystem and our own.
#pragma once

#include <string>

#include "app/operator.hpp"
#include "serve/exposition.hpp"

namespace cotrain::app {

// Queues, reconciles, election, requests to the API server, watches, applies.
void write_operator_metrics(serve::exposition& to, const operator_process& process, const kube::client& api,
                            const configuration& config);
// The same for people: /debug/state.
[[nodiscard]] std::string write_operator_state(const operator_process& process, const kube::client& api);

}  // namespace cotrain::app
