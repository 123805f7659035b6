#include "kube/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/read_file.hpp"
#include "kube/kubeconfig.hpp"

namespace cotrain::kube {

namespace {

std::unexpected<base::error> fault(std::string_view text, std::string_view what) {
    return base::fail(base::errc::invalid, fmt::format("\"{}\" {}", base::one_line(text, 120), what));
}

bool visible(char c) { return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f; }

bool host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == ':';
}

// Splits "host", "host:port" and "[address]:port"; false if it is none of them.
bool split_authority(std::string_view authority, server_url& url, std::string_view& port) {
    if (authority.starts_with('[')) {
        const std::size_t end = authority.find(']');
        if (end == std::string_view::npos) return false;
        url.host = authority.substr(1, end - 1);
        authority.remove_prefix(end + 1);
        if (!authority.empty() && authority.front() != ':') return false;
        port = authority.empty() ? std::string_view{} : authority.substr(1);
        return authority.size() != 1 && url.host.contains(':');
    }
    const std::size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view{} : authority.substr(colon + 1);
    return colon != authority.size() - 1 && !port.contains(':');
}

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
        auto text = base::read_file(file, kubeconfig_bytes_max, &missing);
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

base::result<cluster_config> choose(const environment& env, const std::string& file, const std::string& context) {
    if (!file.empty()) return load_files({file}, context);
    if (!env.kubeconfig.empty()) return load_kubeconfig(env.kubeconfig, context);
    if (!env.service_host.empty() && context.empty()) return in_cluster_config(env);
    if (env.home.empty())
        return base::fail(base::errc::invalid,
                          "no cluster: this is no Pod, and neither KUBECONFIG nor HOME is set; name a kubeconfig");
    return load_files({env.home + "/.kube/config"}, context);
}

}  // namespace

base::result<server_url> parse_server_url(std::string_view text, bool tls_by_default) {
    const std::string_view whole = text;
    if (!std::ranges::all_of(text, visible)) return fault(whole, "contains a space or a control character");
    server_url url;
    url.scheme = tls_by_default ? "https" : "http";
    if (const std::size_t mark = text.find("://"); mark != std::string_view::npos) {
        url.scheme = text.substr(0, mark);
        text.remove_prefix(mark + 3);
    }
    if (url.scheme != "https" && url.scheme != "http")
        return fault(whole, "has a scheme that is neither https nor http");
    if (text.find_first_of("?#") != std::string_view::npos) return fault(whole, "may not have a query or a fragment");
    const std::size_t slash = text.find('/');
    const std::string_view authority = text.substr(0, slash);
    if (authority.contains('@')) return fault(whole, "may not contain a user: put credentials under users");
    if (!authority.starts_with('[') && std::ranges::count(authority, ':') > 1)
        return fault(whole, "has an IPv6 address without brackets: write https://[address]:port");
    if (authority.empty() || authority.starts_with(':')) return fault(whole, "has no host: write https://host:port");
    std::string_view port;
    if (!split_authority(authority, url, port)) return fault(whole, "is not of the form https://host:port");
    if (!std::ranges::all_of(url.host, host_character)) return fault(whole, "has a host that is no name or address");
    url.port = url.scheme == "https" ? 443 : 80;
    if (!port.empty()) {
        const auto [end, bad] = std::from_chars(port.data(), port.data() + port.size(), url.port);
        if (bad != std::errc{} || end != port.data() + port.size() || url.port == 0)
            return fault(whole, "has a port that is not between 1 and 65535");
    }
    if (slash != std::string_view::npos) url.base_path = text.substr(slash);
    while (url.base_path.ends_with('/')) url.base_path.pop_back();
    return url;
}

environment environment::of_process() {
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

base::result<cluster_config> in_cluster_config(const environment& env) {
    if (env.service_host.empty() || env.service_port.empty())
        return base::fail(
            base::errc::invalid,
            "in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no Pod, "
            "or its service links are off; use a kubeconfig");
    auto port = port_of(env.service_port);
    if (!port) return base::fail(std::move(port).error());
    cluster_config out;
    out.host = env.service_host;
    out.port = *port;
    if (!visible_ascii(out.host))
        return base::fail(base::errc::invalid, "in-cluster: KUBERNETES_SERVICE_HOST is no host name or address");
    const bool bare_v6 = out.host.contains(':');
    out.server = fmt::format("https://{}{}{}:{}", bare_v6 ? "[" : "", out.host, bare_v6 ? "]" : "", out.port);
    out.ca.file = env.service_account_dir + "/ca.crt";
    out.user.token_file = env.service_account_dir + "/token";
    auto ns = base::read_file(env.service_account_dir + "/namespace", namespace_bytes_max);
    if (ns) out.ns = trimmed(std::move(*ns));
    out.origin = "in-cluster";
    return out;
}

base::result<cluster_config> find_config(const environment& env, const std::string& file, const std::string& context) {
    auto found = choose(env, file, context);
    if (!found) return found;
    found->https_proxy = env.https_proxy;
    found->no_proxy = env.no_proxy;
    return found;
}

}  // namespace cotrain::kube
