// Judging what the cluster shows: objects in, findings out. No I/O, and the time is an argument.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/doctor_findings.hpp"
#include "kube/answer.hpp"
#include "kube/resource.hpp"

namespace cotrain::app {

// Kubernetes versions that releases are tested with; newer ones usually work.
inline constexpr unsigned server_minor_min = 30;
inline constexpr unsigned server_minor_max = 36;

// A certificate that ends within this time should have been renewed.
inline constexpr std::chrono::days certificate_warning_days{30};

// A definition that something stands on.
struct wanted_definition {
    kube::resource of;
    bool needed = true;  // otherwise only where somebody asks for it
    std::string_view install;
};

[[nodiscard]] finding judge_version(const kube::server_version& version, std::string_view server, std::string_view who);

// A CustomResourceDefinition's text; nothing: it is not there.
[[nodiscard]] finding judge_definition(const wanted_definition& wanted, const std::optional<std::string>& body);
// What can be said without reading it.
[[nodiscard]] finding judge_served(const wanted_definition& wanted, bool served);

// Who a webhook configuration sends reviews to, and whom it trusts.
struct webhook_target {
    std::string configuration;
    std::string webhook;
    std::string ns{};  // of the Service; empty when it is a URL
    std::string service{};
    std::string ca_pem{};
};
// The webhooks of a configuration that are ours; `found` gets what is wrong with it.
[[nodiscard]] std::vector<webhook_target> read_webhooks(std::string_view name, std::string_view body, findings& found);
[[nodiscard]] finding missing_webhooks(std::string_view name);
// Whether what is served (the certificate of the Secret) passes with those who call.
void judge_certificate(const std::vector<webhook_target>& targets, std::string_view certificate_pem,
                       std::chrono::sys_seconds now, findings& found);
// EndpointSlices of the webhooks' Service.
[[nodiscard]] finding judge_endpoints(const webhook_target& target, std::string_view slices);

// A Lease's text; nothing: there is none, which is worse where the configuration is known to want one.
[[nodiscard]] finding judge_lease(const std::optional<std::string>& body, std::string_view name, bool wanted,
                                  std::chrono::sys_seconds now);

// A list of runtimes: which gang schedulers they ask for, and the marks that old controllers left on them.
struct runtime_needs {
    std::string coscheduling{};  // a runtime that asks for it
    std::string volcano{};
    std::vector<std::string> held{};  // by a finalizer of an old version
};
void read_runtimes(std::string_view list, runtime_needs& needs);
[[nodiscard]] findings judge_gang(const runtime_needs& needs, bool coscheduling_there, bool volcano_there);
[[nodiscard]] findings judge_leftovers(const runtime_needs& needs);
// Deployments by the operator's name: ours, and the old controller's where it still runs.
[[nodiscard]] findings judge_deployments(std::string_view list, std::string_view name);

}  // namespace cotrain::app
