// What is said to and by exec plugins: ExecCredential objects of client.authentication.k8s.io.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "kube/config.hpp"

namespace cotrain::kube::auth {

// The value of KUBERNETES_EXEC_INFO. Only plugins that ask for it get the cluster; `ca_pem` is what ca means.
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

// When an exec plugin has to run again: pure, time is passed in.

struct exec_schedule_policy {
    // How long before their end credentials are renewed in the background; a fifth of their life if that is less.
    std::chrono::seconds early_max{300};
    // How long before their end they are not used any more; a twentieth of their life if that is less.
    std::chrono::seconds margin_max{10};
    // Between the end of one run and the start of the next, whatever its outcome.
    std::chrono::milliseconds pause{1'000};
};

class exec_schedule {
   public:
    using time_point = std::chrono::steady_clock::time_point;
    enum class need { none, soon, now };

    explicit exec_schedule(exec_schedule_policy policy = {}) : policy_(policy) {}

    // Whether what the last run gave is good, should be renewed while it still is, or cannot be used.
    [[nodiscard]] need at(time_point now) const;
    // False right after a run: another one would say the same.
    [[nodiscard]] bool may_run(time_point now) const { return !ended_ || now >= *ended_ + policy_.pause; }

    // A run ended; `life` is how long its credentials are valid, nothing if they do not expire.
    void succeeded(time_point now, std::optional<std::chrono::seconds> life);
    void failed(time_point now) { ended_ = now; }
    // The API server refused what we have.
    void reject() { usable_ = false; }

   private:
    exec_schedule_policy policy_;
    bool usable_ = false;
    std::optional<time_point> soon_at_;
    std::optional<time_point> now_at_;
    std::optional<time_point> ended_;
};

}  // namespace cotrain::kube::auth
