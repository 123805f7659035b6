// Reading of the files that make up a configuration.
#include "kube/find_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "kube/header_text.hpp"
#include "kube/kubeconfig.hpp"
#include "kube/read_file.hpp"

namespace cotrain::kube {

namespace {

constexpr std::size_t namespace_bytes_max = 1024;

std::string variable(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? std::string() : std::string(text);
}

std::string either(const char* name, const char* second) {
    std::string text = variable(name);
    return text.empty() ? variable(second) : text;
}

// The files of a list, empty elements and repetitions left out.
std::vector<std::string> split_list(std::string_view list) {
    std::vector<std::string> files;
    while (!list.empty()) {
        const std::size_t colon = std::min(list.find(':'), list.size());
        const std::string_view one = list.substr(0, colon);
        if (!one.empty() && std::ranges::find(files, one) == files.end()) files.emplace_back(one);
        list.remove_prefix(std::min(colon + 1, list.size()));
    }
    return files;
}

std::string trimmed(std::string text) {
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= 0x20) text.pop_back();
    return text;
}

base::result<std::uint16_t> port_of(const std::string& text) {
    std::uint16_t port = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (bad != std::errc{} || end != text.data() + text.size() || port == 0)
        return base::fail(
            base::errc::invalid,
            fmt::format("in-cluster: KUBERNETES_SERVICE_PORT is \"{}\", must be a port", base::one_line(text, 40)));
    return port;
}

base::result<cluster_config> load_files(const std::vector<std::string>& files, const std::string& context) {
    if (files.empty()) return base::fail(base::errc::invalid, "kubeconfig: no file was named: set KUBECONFIG");
    if (files.size() > kubeconfig_files_max)
        return base::fail(base::errc::too_large, fmt::format("kubeconfig: more than {} files", kubeconfig_files_max));
    std::vector<kubeconfig> read;
    for (const std::string& file : files) {
        bool missing = false;
        auto text = read_file(file, kubeconfig_bytes_max, &missing);
        if (!text && missing) continue;
        if (!text) return base::fail(std::move(text).error().during("kubeconfig"));
        auto one = parse_kubeconfig(*text, file);
        if (!one) return base::fail(std::move(one).error());
        read.push_back(std::move(*one));
    }
    if (!read.empty()) return resolve_kubeconfig(merge_kubeconfigs(std::move(read)), context);
    std::string names;
    for (const std::string& file : files) names += (names.empty() ? "" : ":") + file;
    return base::fail(base::errc::invalid,
                      fmt::format("kubeconfig {}: no such file: name one that exists", base::one_line(names, 256)));
}

}  // namespace

surroundings surroundings::of_process() {
    return {.kubeconfig = variable("KUBECONFIG"),
            .home = variable("HOME"),
            .service_host = variable("KUBERNETES_SERVICE_HOST"),
            .service_port = variable("KUBERNETES_SERVICE_PORT"),
            .https_proxy = either("HTTPS_PROXY", "https_proxy"),
            .no_proxy = either("NO_PROXY", "no_proxy")};
}

base::result<cluster_config> load_kubeconfig(const std::string& list, const std::string& context) {
    return load_files(split_list(list), context);
}

base::result<cluster_config> in_cluster_config(const surroundings& around) {
    if (around.service_host.empty() || around.service_port.empty())
        return base::fail(
            base::errc::invalid,
            "in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no Pod, "
            "or its service links are off; use a kubeconfig");
    auto port = port_of(around.service_port);
    if (!port) return base::fail(std::move(port).error());
    cluster_config out;
    out.host = around.service_host;
    out.port = *port;
    if (!visible_ascii(out.host))
        return base::fail(base::errc::invalid, "in-cluster: KUBERNETES_SERVICE_HOST is no host name or address");
    const bool bare_v6 = out.host.contains(':');
    out.server = fmt::format("https://{}{}{}:{}", bare_v6 ? "[" : "", out.host, bare_v6 ? "]" : "", out.port);
    out.ca.file = around.service_account_dir + "/ca.crt";
    out.user.token_file = around.service_account_dir + "/token";
    auto ns = read_file(around.service_account_dir + "/namespace", namespace_bytes_max);
    if (ns) out.ns = trimmed(std::move(*ns));
    out.origin = "in-cluster";
    return out;
}

namespace {

base::result<cluster_config> choose(const surroundings& around, const std::string& file, const std::string& context) {
    if (!file.empty()) return load_files({file}, context);
    if (!around.kubeconfig.empty()) return load_kubeconfig(around.kubeconfig, context);
    if (!around.service_host.empty() && context.empty()) return in_cluster_config(around);
    if (around.home.empty())
        return base::fail(base::errc::invalid,
                          "no cluster: this is no Pod, and neither KUBECONFIG nor HOME is set; name a kubeconfig");
    return load_files({around.home + "/.kube/config"}, context);
}

}  // namespace

base::result<cluster_config> find_config(const surroundings& around, const std::string& file,
                                         const std::string& context) {
    auto found = choose(around, file, context);
    if (!found) return found;
    found->https_proxy = around.https_proxy;
    found->no_proxy = around.no_proxy;
    return found;
}

}  // namespace cotrain::kube
