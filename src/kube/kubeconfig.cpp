#include "kube/kubeconfig.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/encoding.hpp"
#include "doc/decode.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "kube/config.hpp"
#include "net/tcp/proxy.hpp"

namespace cotrain::kube {

namespace {

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", base::one_line(text, 80)); }

// "a, b, c", or the first few of many.
template <class Entry>
std::string names_of(const std::deque<Entry>& entries) {
    constexpr std::size_t shown_max = 8;
    if (entries.empty()) return "none";
    std::string text;
    for (std::size_t i = 0; i < std::min(entries.size(), shown_max); ++i)
        text += (i == 0 ? "" : ", ") + base::one_line(entries[i].name, 80);
    if (entries.size() > shown_max) text += fmt::format(" and {} more", entries.size() - shown_max);
    return text;
}

template <class Entry>
const Entry* find(const std::deque<Entry>& entries, std::string_view name) {
    const auto it = std::ranges::find(entries, name, &Entry::name);
    return it == entries.end() ? nullptr : &*it;
}

template <class Entry>
void add_unknown(std::deque<Entry>& to, std::deque<Entry>& from) {
    for (Entry& entry : from)
        if (find(to, entry.name) == nullptr) to.push_back(std::move(entry));
}

std::string all_files(const kubeconfig& merged) {
    std::string text;
    for (const std::string& file : merged.files) text += (text.empty() ? "" : ":") + file;
    return text;
}

// Errors of one entry: "kubeconfig <file>: clusters[1].cluster.<key>: <what>".
class complaint {
   public:
    complaint(const kubeconfig_entry& entry, std::string_view inner) : entry_(entry), inner_(inner) {}
    [[nodiscard]] std::unexpected<base::error> operator()(std::string_view key, std::string_view what) const {
        const std::string text =
            fmt::format("kubeconfig {}: {}.{}.{}: {}", entry_.file, entry_.field, inner_, key, what);
        return base::fail(base::errc::invalid, base::one_line(text, 512));
    }

   private:
    const kubeconfig_entry& entry_;
    std::string_view inner_;
};

// Text from a "-data" field, or the file of its sibling.
base::result<pem_source> pem_of(const complaint& refuse, std::string_view key, const std::string& file,
                                const std::string& data) {
    pem_source source;
    if (data.empty()) {
        source.file = file;
        return source;
    }
    const std::string data_key = fmt::format("{}-data", key);
    if (!file.empty()) return refuse(data_key, fmt::format("is set beside {}: keep one of them", key));
    auto bytes = base::decode_base64(data);
    if (!bytes) return refuse(data_key, "is not base64: copy it again from where it came");
    if (!bytes->contains("-----BEGIN "))
        return refuse(data_key, "holds no PEM text once decoded: it must be the base64 of a PEM file");
    source.pem = std::move(*bytes);
    return source;
}

base::result<> resolve_cluster(const kubeconfig_cluster& in, bool has_certificate, cluster_config& out) {
    const complaint refuse(in, "cluster");
    auto ca = pem_of(refuse, "certificate-authority", in.certificate_authority, in.certificate_authority_data);
    if (!ca) return base::fail(std::move(ca).error());
    out.ca = std::move(*ca);
    if (in.insecure_skip_tls_verify && !out.ca.empty())
        return refuse("insecure-skip-tls-verify", "is set beside a certificate-authority: keep one of them");
    out.insecure = in.insecure_skip_tls_verify;
    if (in.server.empty()) return refuse("server", "is not set: write https://host:port");
    auto url = parse_server_url(in.server, has_certificate || out.insecure || !out.ca.empty());
    if (!url) return refuse("server", url.error().message);
    out.server = in.server;
    out.scheme = std::move(url->scheme);
    out.host = std::move(url->host);
    out.port = url->port;
    out.base_path = std::move(url->base_path);
    if (!visible_ascii(in.tls_server_name)) return refuse("tls-server-name", "is no host name");
    out.tls_server_name = in.tls_server_name;
    if (!in.proxy_url.empty())
        if (auto proxy = net::tcp::parse_proxy(in.proxy_url); !proxy) return refuse("proxy-url", proxy.error().message);
    out.proxy_url = in.proxy_url;
    return {};
}

base::result<> resolve_exec(const kubeconfig_user& in, const complaint& refuse, cluster_config& out) {
    const exec_plugin& plugin = *in.exec;
    if (plugin.command.empty()) return refuse("exec.command", "is not set: name the program to run");
    if (plugin.api_version != "client.authentication.k8s.io/v1" &&
        plugin.api_version != "client.authentication.k8s.io/v1beta1")
        return refuse("exec.apiVersion",
                      fmt::format("is {}, must be client.authentication.k8s.io/v1 or …/v1beta1: the plugin's "
                                  "documentation says which it speaks",
                                  plugin.api_version.empty() ? "not set" : in_quotes(plugin.api_version)));
    const std::string& mode = in.exec_interactive_mode;
    if (mode == "Always")
        return refuse("exec.interactiveMode", "is Always, but there is no terminal here: use Never or IfAvailable");
    if (mode.empty() && plugin.api_version.ends_with("/v1"))
        return refuse("exec.interactiveMode", "is not set: use Never or IfAvailable");
    if (!mode.empty() && mode != "Never" && mode != "IfAvailable")
        return refuse("exec.interactiveMode", fmt::format("is {}, must be Never or IfAvailable", in_quotes(mode)));
    out.user.exec = plugin;
    return {};
}

base::result<> resolve_impersonation(const impersonation& in, const complaint& refuse, cluster_config& out) {
    const bool more = !in.uid.empty() || !in.groups.empty() || !in.extra.empty();
    if (in.user.empty() && more) return refuse("as", "is not set, but as-uid, as-groups or as-user-extra is: set it");
    if (!header_text(in.user)) return refuse("as", "contains a control character");
    if (!header_text(in.uid)) return refuse("as-uid", "contains a control character");
    if (!std::ranges::all_of(in.groups, header_text)) return refuse("as-groups", "contains a control character");
    for (const auto& [key, text] : in.extra)
        if (key.empty() || !header_text(text)) return refuse("as-user-extra", "has an unusable key or value");
    out.user.as = in;
    return {};
}

base::result<> resolve_certificate(const kubeconfig_user& in, const complaint& refuse, cluster_config& out) {
    auto certificate = pem_of(refuse, "client-certificate", in.client_certificate, in.client_certificate_data);
    if (!certificate) return base::fail(std::move(certificate).error());
    auto key = pem_of(refuse, "client-key", in.client_key, in.client_key_data);
    if (!key) return base::fail(std::move(key).error());
    if (!certificate->empty() && key->empty())
        return refuse("client-key-data",
                      "is not set, nor is client-key, but there is a client certificate: add its key");
    if (certificate->empty() && !key->empty())
        return refuse("client-certificate-data",
                      "is not set, nor is client-certificate, but there is a client key: add its certificate");
    out.user.certificate = std::move(*certificate);
    out.user.key = std::move(*key);
    return {};
}

base::result<> resolve_user(const kubeconfig_user& in, cluster_config& out) {
    const complaint refuse(in, "user");
    if (!in.auth_provider.empty())
        return refuse("auth-provider", fmt::format("{} is not supported, nor by kubectl since 1.26: use an exec plugin",
                                                   in_quotes(in.auth_provider)));
    const bool has_token = !in.token.empty() || !in.token_file.empty();
    if (has_token && !in.username.empty())
        return refuse("username", "is set beside a token or tokenFile: keep one of them");
    if (in.username.empty() && !in.password.empty()) return refuse("username", "is not set, but password is");
    if (in.username.contains(':')) return refuse("username", "may not contain ':'");
    if (!visible_ascii(in.token))
        return refuse("token", "contains a space, a line break or a byte that no token has: copy it again");
    if (auto ok = resolve_certificate(in, refuse, out); !ok) return ok;
    out.user.token = in.token;
    out.user.token_file = in.token_file;
    out.user.username = in.username;
    out.user.password = in.password;
    // A token or a user name wins over a plugin, as with kubectl.
    if (in.exec && !has_token && in.username.empty())
        if (auto ok = resolve_exec(in, refuse, out); !ok) return ok;
    return resolve_impersonation(in.as, refuse, out);
}

base::result<const kubeconfig_context*> choose_context(const kubeconfig& merged, std::string_view wanted) {
    const std::string_view name = wanted.empty() ? std::string_view(merged.current_context) : wanted;
    const auto refuse = [&](std::string_view field, std::string_view what) {
        return base::fail(base::errc::invalid,
                          base::one_line(fmt::format("kubeconfig {}: {}{}; have: {}", all_files(merged), field, what,
                                                     names_of(merged.contexts)),
                                         512));
    };
    if (name.empty()) return refuse("current-context: ", "is not set: set it or name a context");
    const kubeconfig_context* found = find(merged.contexts, name);
    if (found == nullptr)
        return refuse(wanted.empty() ? "current-context: " : "context ",
                      fmt::format("{}: no such context", in_quotes(name)));
    return found;
}

using doc::place;
using doc::ref;
constexpr std::string_view exec_extension = "client.authentication.k8s.io/exec";
constexpr unsigned depth_max = 64;
constexpr std::size_t memory_bytes_max = 64UL << 20U;  // of the document: aliases multiply

// A path, relative to the folder of the file.
void read_path(const place& in, std::string_view key, const kubeconfig_entry& of, std::string& out) {
    in.read(key, out);
    if (!out.empty() && out.front() != '/') out.insert(0, of.file, 0, of.file.rfind('/') + 1);
}

void read_body(const place& in, kubeconfig_cluster& out) {
    in.read("server", out.server);
    read_path(in, "certificate-authority", out, out.certificate_authority);
    in.read("certificate-authority-data", out.certificate_authority_data);
    in.read("insecure-skip-tls-verify", out.insecure_skip_tls_verify);
    in.read("tls-server-name", out.tls_server_name);
    in.read("proxy-url", out.proxy_url);
    for (const ref one : in.array("extensions").value().items())
        if (one.get("name").as_string() == exec_extension) out.exec_extension_json = doc::to_json(one.get("extension"));
}

void read_exec(const place& in, kubeconfig_user& out) {
    exec_plugin& plugin = out.exec.emplace();
    in.read("command", plugin.command);
    // As a shell does: a name without a slash is looked up in PATH.
    if (plugin.command.contains('/')) read_path(in, "command", out, plugin.command);
    in.read_strings("args", plugin.arguments);
    in.read("apiVersion", plugin.api_version);
    in.read("installHint", plugin.install_hint);
    in.read("interactiveMode", out.exec_interactive_mode);
    in.read("provideClusterInfo", plugin.provide_cluster_info);
    in.each_object("env", [&plugin](const place& variable) {
        auto& [name, content] = plugin.environment.emplace_back();
        variable.read("name", name);
        variable.read("value", content);
        if (name.empty() || name.contains('=')) variable.member("name").mistake("must be the name of a variable");
    });
}

void read_body(const place& in, kubeconfig_user& out) {
    read_path(in, "client-certificate", out, out.client_certificate);
    in.read("client-certificate-data", out.client_certificate_data);
    read_path(in, "client-key", out, out.client_key);
    in.read("client-key-data", out.client_key_data);
    in.read("token", out.token);
    read_path(in, "tokenFile", out, out.token_file);
    in.read("username", out.username);
    in.read("password", out.password);
    in.read("as", out.as.user);
    in.read("as-uid", out.as.uid);
    in.read_strings("as-groups", out.as.groups);
    const place extra = in.object("as-user-extra");
    for (const doc::member& each : extra.value().members()) {
        std::vector<std::string> all;
        extra.read_strings(each.key(), all);
        for (std::string& one : all) out.as.extra.emplace_back(each.key(), std::move(one));
    }
    if (const place exec = in.object("exec")) read_exec(exec, out);
    if (const place provider = in.object("auth-provider")) {
        out.auth_provider = "?";
        provider.read("name", out.auth_provider);
    }
}

void read_body(const place& in, kubeconfig_context& out) {
    in.read("cluster", out.cluster);
    in.read("user", out.user);
    in.read("namespace", out.ns);
}

// A list of {name, <inner>: object}.
template <class Entry>
void read_entries(const place& document, std::string_view file, std::string_view key, std::string_view inner,
                  std::deque<Entry>& out) {
    if (document.value().get(key).size() > kubeconfig_entries_max)
        return document.member(key).mistake(fmt::format("has more than {} entries", kubeconfig_entries_max));
    std::unordered_set<std::string_view> names;
    document.each_object(key, [&](const place& item) {
        const std::string_view name = item.value().get("name").as_string();
        if (!names.insert(name).second)
            return item.member("name").mistake(
                fmt::format("\"{}\" occurs twice in this file: keep one", base::one_line(name, 80)));
        Entry& entry = out.emplace_back();
        entry.file = file;
        entry.field = item.path();
        item.read("name", entry.name);
        if (const place body = item.object(inner)) read_body(body, entry);
    });
}

void read_document(const place& document, std::string_view file, kubeconfig& out) {
    if (!document.value().is_object())
        return document.mistake(fmt::format("the document: is {}, must be an object with clusters, contexts and users",
                                            to_string(document.value().type())));
    std::string kind;
    document.read("kind", kind);
    if (!kind.empty() && kind != "Config")
        return document.member("kind").mistake(
            fmt::format("is {}, must be Config: this is no kubeconfig", in_quotes(kind)));
    document.read("current-context", out.current_context);
    read_entries(document, file, "clusters", "cluster", out.clusters);
    read_entries(document, file, "contexts", "context", out.contexts);
    read_entries(document, file, "users", "user", out.users);
}

}  // namespace

kubeconfig merge_kubeconfigs(std::vector<kubeconfig> files) {
    kubeconfig merged;
    for (kubeconfig& file : files) {
        for (std::string& name : file.files) merged.files.push_back(std::move(name));
        if (merged.current_context.empty()) merged.current_context = std::move(file.current_context);
        add_unknown(merged.clusters, file.clusters);
        add_unknown(merged.contexts, file.contexts);
        add_unknown(merged.users, file.users);
    }
    return merged;
}

base::result<cluster_config> resolve_kubeconfig(const kubeconfig& merged, std::string_view context) {
    const auto chosen = choose_context(merged, context);
    if (!chosen) return base::fail(chosen.error());
    const kubeconfig_context& in = **chosen;
    const complaint refuse(in, "context");
    if (in.cluster.empty())
        return refuse("cluster", fmt::format("is not set: name one; have: {}", names_of(merged.clusters)));
    const kubeconfig_cluster* cluster = find(merged.clusters, in.cluster);
    if (cluster == nullptr)
        return refuse("cluster", fmt::format("{}: no such cluster in this or the merged files; have: {}",
                                             in_quotes(in.cluster), names_of(merged.clusters)));
    cluster_config out;
    out.origin = fmt::format("kubeconfig {}, context {}", in.file, base::one_line(in.name, 80));
    out.ns = in.ns;
    if (!in.user.empty()) {  // a context without a user is anonymous
        const kubeconfig_user* user = find(merged.users, in.user);
        if (user == nullptr)
            return refuse("user", fmt::format("{}: no such user in this or the merged files; have: {}",
                                              in_quotes(in.user), names_of(merged.users)));
        if (auto ok = resolve_user(*user, out); !ok) return base::fail(std::move(ok).error());
    }
    if (auto ok = resolve_cluster(*cluster, !out.user.certificate.empty(), out); !ok)
        return base::fail(std::move(ok).error());
    if (out.user.exec.provide_cluster_info) out.user.exec.cluster_config_json = cluster->exec_extension_json;
    return out;
}

base::result<kubeconfig> parse_kubeconfig(std::string_view text, std::string_view file) {
    const auto refuse = [&](std::string_view what) {
        return base::fail(base::errc::invalid, base::one_line(fmt::format("kubeconfig {}: {}", file, what), 512));
    };
    if (text.size() > kubeconfig_bytes_max)
        return refuse(fmt::format("is larger than {} MiB: split it and list the files in KUBECONFIG",
                                  kubeconfig_bytes_max >> 20U));
    kubeconfig out;
    out.files.emplace_back(file);
    doc::arena memory(memory_bytes_max);
    const auto documents = doc::parse_yaml_stream(memory, text, {kubeconfig_bytes_max, depth_max});
    if (!documents) return refuse(documents.error().message);
    // Of several documents kubectl reads the first. An empty file adds nothing.
    if (documents->empty() || documents->front().value.is_unset()) return out;
    doc::decoding outcome({}, true);
    read_document({outcome, documents->front().value}, file, out);
    if (outcome.ok()) return out;
    const std::string mistake = outcome.fail().error().message;
    return refuse(mistake + (mistake.contains("expected a string, got ") ? ": put it in quotes" : ""));
}

}  // namespace cotrain::kube
