// What is said to and by exec plugins: ExecCredential objects of client.authentication.k8s.io.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "kube/config.hpp"

namespace cotrain::kube::auth {

// The value of KUBERNETES_EXEC_INFO. The cluster is told only to plugins that ask for it; `ca_pem` is what ca means.
[[nodiscard]] std::string write_exec_info(const exec_plugin& plugin, const cluster_config& cluster,
                                          std::string_view ca_pem);

struct exec_credential {
    std::string token;
    std::string certificate_pem;
    std::string key_pem;
    std::optional<std::chrono::sys_seconds> expires;
};

// Demands the version that was asked for, and a token or a certificate with its key.
[[nodiscard]] base::result<exec_credential> read_exec_credential(std::string_view body, std::string_view api_version);

}  // namespace cotrain::kube::auth
