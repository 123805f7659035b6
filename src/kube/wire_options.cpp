// From a configuration to a connection: names, trust and keys.
#include <utility>

#include "kube/core.hpp"
#include "net/tcp/proxy.hpp"

namespace cotrain::kube {

base::result<std::shared_ptr<const net::tls::context>> make_tls(const auth::tls_material& keys, bool verify) {
    net::tls::client_options options;
    options.ca_pem = keys.ca_pem;
    options.certificate_pem = keys.certificate_pem;
    options.key_pem = keys.key_pem;
    options.verify = verify;
    return net::tls::context::for_client(options);
}

base::result<net::client_options> wire_options(const cluster_config& cluster, net::client_options wire,
                                               const auth::tls_material& keys) {
    wire.peer = {cluster.host, cluster.port};
    wire.scheme = cluster.scheme;
    wire.server_name = cluster.tls_server_name;
    if (!cluster.proxy_url.empty()) {
        auto proxy = net::tcp::parse_proxy(cluster.proxy_url);
        if (!proxy) return base::fail(std::move(proxy).error().during("proxy-url"));
        wire.connect.via = std::move(*proxy);
    } else if (cluster.scheme == "https") {
        auto proxy = net::tcp::proxy_for(cluster.host, cluster.port, cluster.https_proxy, cluster.no_proxy);
        if (!proxy) return base::fail(std::move(proxy).error());
        wire.connect.via = std::move(*proxy);
    }
    wire.tls.reset();
    if (cluster.scheme != "https") return wire;
    auto tls = make_tls(keys, !cluster.insecure);
    if (!tls) return base::fail(std::move(tls).error());
    wire.tls = std::move(*tls);
    return wire;
}

}  // namespace cotrain::kube
