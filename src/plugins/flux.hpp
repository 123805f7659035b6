// The two shell scripts that prepare and start Flux, and the certificate its brokers share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/endpoints.hpp"
#include "runtime/object.hpp"

namespace cotrain::plugins {

// What the scripts are made of.
struct flux_settings {
    std::string main_host;        // first pod: leads the brokers
    runtime::endpoints replicas;  // the first pod of each
    std::string domain;           // "sub.namespace.svc.cluster.local"
    std::string view_image;       // carries Flux
    std::string network_device;
    std::string queue_policy;
    std::int64_t nodes = 1;  // of all replicas
    std::int64_t tasks_per_node = 1;
    std::int64_t gpus_per_node = 0;
};

// For the init container: configures the brokers and copies Flux into the shared volume.
[[nodiscard]] std::string flux_init_script(const flux_settings& s);
// For the trainer's container: starts the brokers; the leader runs the command it is given as arguments.
[[nodiscard]] std::string flux_entrypoint_script(const flux_settings& s);

// The CURVE certificate that all brokers of a job read. The job's name is a DNS label.
[[nodiscard]] std::string flux_certificate(std::string_view job_name, const runtime::curve_key& key);

}  // namespace cotrain::plugins
