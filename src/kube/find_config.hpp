// Where the configuration comes from: a file that was named, KUBECONFIG, the Pod's service account, ~/.kube/config.
#pragma once

#include <string>

#include "base/error.hpp"
#include "kube/config.hpp"

namespace cotrain::kube {

// What the surroundings say; a value, so that tests can say something else.
struct surroundings {
    std::string kubeconfig;    // KUBECONFIG: files separated by colons
    std::string home;          // HOME
    std::string service_host;  // KUBERNETES_SERVICE_HOST
    std::string service_port;  // KUBERNETES_SERVICE_PORT
    std::string https_proxy;   // HTTPS_PROXY or https_proxy
    std::string no_proxy;      // NO_PROXY or no_proxy
    std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";

    [[nodiscard]] static surroundings of_process();
};

// `list` as in KUBECONFIG. Missing files are skipped, but not all of them. Proxies of the environment are not asked.
[[nodiscard]] base::result<cluster_config> load_kubeconfig(const std::string& list, const std::string& context = {});
// What kubelet mounts into a Pod; token and ca.crt are read again when they change.
[[nodiscard]] base::result<cluster_config> in_cluster_config(const surroundings& around);
// The first that applies: `file` (must exist), KUBECONFIG, in-cluster, ~/.kube/config. A context given in a Pod
// means a kubeconfig is wanted.
[[nodiscard]] base::result<cluster_config> find_config(const surroundings& around, const std::string& file = {},
                                                       const std::string& context = {});

}  // namespace cotrain::kube
