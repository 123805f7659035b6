// The control plane of the test run: where it is, and how to make it fail.
#pragma once

#include <string>

#include "base/asio.hpp"
#include "kube/config.hpp"

namespace cotrain::test {

// The API server that `./dev test` started. Throws when there is none: these tests cannot be skipped.
[[nodiscard]] kube::cluster_config real_cluster();
// Whether that is older than Kubernetes 1.MINOR.
[[nodiscard]] bool server_before(int minor);
// The value of a COTRAIN_TEST_ variable; throws when it is not set.
[[nodiscard]] std::string test_variable(const char* name);
// One command of the launcher's control socket ("restart apiserver"); its answer. The test fails when it is refused.
[[nodiscard]] awaitable<std::string> control(std::string command);

}  // namespace cotrain::test
