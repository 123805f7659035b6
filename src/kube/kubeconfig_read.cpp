// Reading one kubeconfig text: YAML or JSON into the fields that are used.
#include <fmt/format.h>

#include <span>
#include <unordered_set>

#include "api/json.hpp"
#include "api/yaml.hpp"
#include "kube/kubeconfig.hpp"

namespace cotrain::kube {

namespace {

using api::ref;
constexpr std::string_view exec_extension = "client.authentication.k8s.io/exec";
constexpr unsigned depth_max = 64;
constexpr std::size_t memory_bytes_max = 64UL << 20U;  // of the document: aliases multiply

std::string folder_of(std::string_view file) {
    const std::size_t slash = file.rfind('/');
    return slash == std::string_view::npos ? std::string() : std::string(file.substr(0, slash + 1));
}

// Walks the document and keeps the first mistake; `at` is the path of the mapping that is read.
class reader {
   public:
    explicit reader(std::string_view file) : file_(file), folder_(folder_of(file)) {}

    [[nodiscard]] const std::string& mistake() const { return mistake_; }
    void mistaken(std::string_view at, std::string_view key, std::string_view what) {
        if (!mistake_.empty()) return;
        mistake_ = fmt::format("kubeconfig {}: {}{}{}: {}", file_, at, at.empty() || key.empty() ? "" : ".", key, what);
    }

    // The member of that name; null counts as absent.
    [[nodiscard]] static ref member(ref of, std::string_view key) {
        const ref found = of.get(key);
        return found.is_unset() ? ref() : found;
    }

    void text(ref of, std::string_view at, std::string_view key, std::string& out) {
        const ref found = member(of, key);
        if (!found) return;
        if (!found.is_string())
            return mistaken(at, key, fmt::format("is {}, must be a string: put it in quotes", to_string(found.type())));
        out = found.text();
    }

    void path(ref of, std::string_view at, std::string_view key, std::string& out) {
        text(of, at, key, out);
        if (!out.empty() && out.front() != '/') out.insert(0, folder_);
    }

    void flag(ref of, std::string_view at, std::string_view key, bool& out) {
        const ref found = member(of, key);
        if (!found) return;
        if (!found.is_bool())
            return mistaken(at, key, fmt::format("is {}, must be true or false", to_string(found.type())));
        out = found.as_bool(false);
    }

    // The object below, or nothing.
    [[nodiscard]] ref object(ref of, std::string_view at, std::string_view key) {
        const ref found = member(of, key);
        if (!found || found.is_object()) return found;
        mistaken(at, key, fmt::format("is {}, must be an object", to_string(found.type())));
        return {};
    }

    // The items of the list below, or none.
    [[nodiscard]] std::span<const ref> list(ref of, std::string_view at, std::string_view key) {
        const ref found = member(of, key);
        if (found && !found.is_array())
            mistaken(at, key, fmt::format("is {}, must be a list", to_string(found.type())));
        return found.items();
    }

    void texts(ref of, std::string_view at, std::string_view key, std::vector<std::string>& out) {
        const std::span<const ref> items = list(of, at, key);
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (items[i].is_string())
                out.emplace_back(items[i].text());
            else
                mistaken(at, fmt::format("{}[{}]", key, i),
                         fmt::format("is {}, must be a string: put it in quotes", to_string(items[i].type())));
        }
    }

    // Calls `read` with the object, its path and its entry for each of a list of {name, <inner>: object}.
    template <class Entry>
    void entries(ref document, std::string_view key, std::string_view inner, std::vector<Entry>& out,
                 void (*read)(reader& in, ref body, const std::string& at, Entry& entry)) {
        const std::span<const ref> items = list(document, {}, key);
        if (items.size() > kubeconfig_entries_max)
            return mistaken({}, key, fmt::format("has more than {} entries", kubeconfig_entries_max));
        std::unordered_set<std::string_view> names;
        out.reserve(items.size());
        for (std::size_t i = 0; i < items.size() && mistake_.empty(); ++i) {
            Entry& entry = out.emplace_back();
            entry.file = file_;
            entry.field = fmt::format("{}[{}]", key, i);
            if (!items[i].is_object())
                return mistaken(entry.field, {}, fmt::format("is {}, must be an object", to_string(items[i].type())));
            text(items[i], entry.field, "name", entry.name);
            if (!names.insert(entry.name).second)
                return mistaken(
                    entry.field, "name",
                    fmt::format("\"{}\" occurs twice in this file: keep one", base::one_line(entry.name, 80)));
            if (const ref body = object(items[i], entry.field, inner))
                read(*this, body, entry.field + "." + std::string(inner), entry);
        }
    }

   private:
    std::string_view file_;
    std::string folder_;
    std::string mistake_;
};

void read_cluster(reader& in, ref body, const std::string& at, kubeconfig_cluster& out) {
    in.text(body, at, "server", out.server);
    in.path(body, at, "certificate-authority", out.certificate_authority);
    in.text(body, at, "certificate-authority-data", out.certificate_authority_data);
    in.flag(body, at, "insecure-skip-tls-verify", out.insecure_skip_tls_verify);
    in.text(body, at, "tls-server-name", out.tls_server_name);
    in.text(body, at, "proxy-url", out.proxy_url);
    for (const ref one : in.list(body, at, "extensions"))
        if (one.get("name").as_string() == exec_extension) out.exec_extension_json = api::to_json(one.get("extension"));
}

void read_exec(reader& in, ref body, const std::string& at, kubeconfig_user& out) {
    exec_plugin& plugin = out.exec.emplace();
    in.text(body, at, "command", plugin.command);
    // As a shell does: a name without a slash is looked up in PATH.
    if (plugin.command.contains('/')) in.path(body, at, "command", plugin.command);
    in.texts(body, at, "args", plugin.arguments);
    in.text(body, at, "apiVersion", plugin.api_version);
    in.text(body, at, "installHint", plugin.install_hint);
    in.text(body, at, "interactiveMode", out.exec_interactive_mode);
    in.flag(body, at, "provideClusterInfo", plugin.provide_cluster_info);
    const std::span<const ref> variables = in.list(body, at, "env");
    for (std::size_t i = 0; i < variables.size(); ++i) {
        const std::string here = fmt::format("{}.env[{}]", at, i);
        auto& [name, content] = plugin.environment.emplace_back();
        in.text(variables[i], here, "name", name);
        in.text(variables[i], here, "value", content);
        if (name.empty() || name.contains('=')) in.mistaken(here, "name", "must be the name of a variable");
    }
}

void read_user(reader& in, ref body, const std::string& at, kubeconfig_user& out) {
    in.path(body, at, "client-certificate", out.client_certificate);
    in.text(body, at, "client-certificate-data", out.client_certificate_data);
    in.path(body, at, "client-key", out.client_key);
    in.text(body, at, "client-key-data", out.client_key_data);
    in.text(body, at, "token", out.token);
    in.path(body, at, "tokenFile", out.token_file);
    in.text(body, at, "username", out.username);
    in.text(body, at, "password", out.password);
    in.text(body, at, "as", out.as.user);
    in.text(body, at, "as-uid", out.as.uid);
    in.texts(body, at, "as-groups", out.as.groups);
    for (const api::member& each : in.object(body, at, "as-user-extra").members()) {
        std::vector<std::string> all;
        in.texts(body.get("as-user-extra"), at + ".as-user-extra", each.key(), all);
        for (std::string& one : all) out.as.extra.emplace_back(each.key(), std::move(one));
    }
    if (const ref exec = in.object(body, at, "exec")) read_exec(in, exec, at + ".exec", out);
    if (const ref provider = in.object(body, at, "auth-provider")) {
        out.auth_provider = "?";
        in.text(provider, at + ".auth-provider", "name", out.auth_provider);
    }
}

void read_context(reader& in, ref body, const std::string& at, kubeconfig_context& out) {
    in.text(body, at, "cluster", out.cluster);
    in.text(body, at, "user", out.user);
    in.text(body, at, "namespace", out.ns);
}

void read_document(reader& in, ref document, kubeconfig& out) {
    if (!document.is_object())
        return in.mistaken(
            "the document", {},
            fmt::format("is {}, must be an object with clusters, contexts and users", to_string(document.type())));
    std::string kind;
    in.text(document, {}, "kind", kind);
    if (!kind.empty() && kind != "Config")
        return in.mistaken({}, "kind",
                           fmt::format("is \"{}\", must be Config: this is no kubeconfig", base::one_line(kind, 80)));
    in.text(document, {}, "current-context", out.current_context);
    in.entries(document, "clusters", "cluster", out.clusters, &read_cluster);
    in.entries(document, "contexts", "context", out.contexts, &read_context);
    in.entries(document, "users", "user", out.users, &read_user);
}

}  // namespace

base::result<kubeconfig> parse_kubeconfig(std::string_view text, std::string_view file) {
    const auto refuse = [&](std::string_view what) {
        return base::fail(base::errc::invalid, base::one_line(fmt::format("kubeconfig {}: {}", file, what), 512));
    };
    if (text.size() > kubeconfig_bytes_max)
        return refuse(fmt::format("is larger than {} MiB: split it and list the files in KUBECONFIG",
                                  kubeconfig_bytes_max >> 20U));
    kubeconfig out;
    out.files.emplace_back(file);
    api::arena memory(memory_bytes_max);
    const auto documents = api::parse_yaml_stream(memory, text, {kubeconfig_bytes_max, depth_max});
    if (!documents) return refuse(documents.error().message);
    // Of several documents kubectl reads the first. An empty file adds nothing.
    if (documents->empty() || documents->front().value.is_unset()) return out;
    reader in(file);
    read_document(in, documents->front().value, out);
    if (!in.mistake().empty()) return base::fail(base::errc::invalid, base::one_line(in.mistake(), 512));
    return out;
}

}  // namespace cotrain::kube
