// Webhook configurations, tokens and HTTPS clients for tests of what an operator serves.
#pragma once

#include <memory>
#include <string>

#include "integration/operator_scene.hpp"
#include "net/client.hpp"

namespace cotrain::test {

namespace kinds {
inline constexpr kube::resource validating{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                           "ValidatingWebhookConfiguration", false};
inline constexpr kube::resource mutating{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                         "MutatingWebhookConfiguration", false};
inline constexpr kube::resource service_account{"", "v1", "serviceaccounts", "ServiceAccount"};
inline constexpr kube::resource pod{"", "v1", "pods", "Pod"};
}  // namespace kinds

inline constexpr std::string_view operator_ns = "kubeflow-system";
inline constexpr std::string_view certificate_secret = "kubeflow-trainer-webhook-cert";
inline constexpr std::string_view validating_name = "validator.trainer.kubeflow.org";
inline constexpr std::string_view mutating_name = "defaulter.trainer.kubeflow.org";

[[nodiscard]] std::uint16_t free_port();

class serve_scene {
   public:
    explicit serve_scene(operator_scene& in) : in_(in) {}

    // The operator's namespace, without certificates from before.
    [[nodiscard]] awaitable<void> prepare();
    // Our two configurations, for jobs of the scene's namespace only.
    [[nodiscard]] awaitable<void> install_webhooks();
    [[nodiscard]] awaitable<void> remove_webhooks();
    [[nodiscard]] std::string config(std::string more) const;

    // Whether a job of that name can be created; what was said otherwise is in `said`.
    [[nodiscard]] awaitable<bool> create_job(std::string name, std::string spec);
    // Tries until it can be created.
    [[nodiscard]] awaitable<bool> created_within(std::string prefix, std::chrono::seconds within);
    // A token of a service account, which is made where it is missing; bound to a Pod of that account, if one is named.
    [[nodiscard]] awaitable<std::string> token(std::string ns, std::string account, std::string audience,
                                               std::string pod = {});
    // One request to a port of the operator's, trusting the secret's authority: the answer, or status 0.
    [[nodiscard]] awaitable<net::response> ask(std::uint16_t port, net::request what);

    std::string said;
    std::uint16_t webhook_port = free_port();

   private:
    operator_scene& in_;
};

}  // namespace cotrain::test
