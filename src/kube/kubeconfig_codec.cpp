// Reading one kubeconfig text: YAML or JSON into the fields that are used.
#include <fmt/format.h>

#include <algorithm>
#include <glaze/json/generic.hpp>
#include <glaze/yaml.hpp>
#include <unordered_set>

#include "kube/kubeconfig.hpp"

namespace cotrain::kube {

namespace {

using value = glz::generic;
constexpr std::string_view exec_extension = "client.authentication.k8s.io/exec";

struct escaping : glz::opts {
    bool escape_control_characters = true;
};

std::string_view kind_of(const value& v) {
    if (v.is_object()) return "a mapping";
    if (v.is_array()) return "a list";
    if (v.is_string()) return "a text";
    if (v.is_boolean()) return "true or false";
    return v.is_null() ? "empty" : "a number";
}

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

    // The member of that name; nothing if it is absent, null or the mapping is none.
    [[nodiscard]] static const value* member(const value& of, std::string_view key) {
        if (!of.is_object()) return nullptr;
        const auto& members = of.get_object();
        const auto it = members.find(key);
        return it == members.end() || it->second.is_null() ? nullptr : &it->second;
    }

    void text(const value& of, std::string_view at, std::string_view key, std::string& out) {
        const value* found = member(of, key);
        if (found == nullptr) return;
        if (!found->is_string())
            return mistaken(at, key, fmt::format("is {}, must be a text: put it in quotes", kind_of(*found)));
        out = found->get_string();
    }

    void path(const value& of, std::string_view at, std::string_view key, std::string& out) {
        text(of, at, key, out);
        if (!out.empty() && out.front() != '/') out.insert(0, folder_);
    }

    void flag(const value& of, std::string_view at, std::string_view key, bool& out) {
        const value* found = member(of, key);
        if (found == nullptr) return;
        if (!found->is_boolean())
            return mistaken(at, key, fmt::format("is {}, must be true or false", kind_of(*found)));
        out = found->get_boolean();
    }

    // The mapping below, or nothing.
    [[nodiscard]] const value* mapping(const value& of, std::string_view at, std::string_view key) {
        const value* found = member(of, key);
        if (found == nullptr || found->is_object()) return found;
        mistaken(at, key, fmt::format("is {}, must be a mapping", kind_of(*found)));
        return nullptr;
    }

    [[nodiscard]] const value::array_t* list(const value& of, std::string_view at, std::string_view key) {
        const value* found = member(of, key);
        if (found == nullptr) return nullptr;
        if (found->is_array()) return &found->get_array();
        mistaken(at, key, fmt::format("is {}, must be a list", kind_of(*found)));
        return nullptr;
    }

    void texts(const value& of, std::string_view at, std::string_view key, std::vector<std::string>& out) {
        const value::array_t* found = list(of, at, key);
        if (found == nullptr) return;
        for (std::size_t i = 0; i < found->size(); ++i) {
            const value& item = (*found)[i];
            if (item.is_string())
                out.push_back(item.get_string());
            else
                mistaken(at, fmt::format("{}[{}]", key, i),
                         fmt::format("is {}, must be a text: put it in quotes", kind_of(item)));
        }
    }

    // Calls `read(mapping, path, entry)` for each of a list of {name, <inner>: mapping}.
    template <class Entry, class Read>
    void entries(const value& document, std::string_view key, std::string_view inner, std::vector<Entry>& out,
                 Read read) {
        const value::array_t* found = list(document, {}, key);
        if (found == nullptr) return;
        if (found->size() > kubeconfig_entries_max)
            return mistaken({}, key, fmt::format("has more than {} entries", kubeconfig_entries_max));
        std::unordered_set<std::string_view> names;
        out.reserve(found->size());
        for (std::size_t i = 0; i < found->size() && mistake_.empty(); ++i) {
            const value& item = (*found)[i];
            Entry& entry = out.emplace_back();
            entry.file = file_;
            entry.field = fmt::format("{}[{}]", key, i);
            if (!item.is_object())
                return mistaken(entry.field, {}, fmt::format("is {}, must be a mapping", kind_of(item)));
            text(item, entry.field, "name", entry.name);
            if (!names.insert(entry.name).second)
                return mistaken(
                    entry.field, "name",
                    fmt::format("\"{}\" occurs twice in this file: keep one", base::one_line(entry.name, 80)));
            if (const value* body = mapping(item, entry.field, inner); body != nullptr)
                read(*body, entry.field + "." + std::string(inner), entry);
        }
    }

   private:
    std::string_view file_;
    std::string folder_;
    std::string mistake_;
};

void read_cluster(reader& in, const value& body, const std::string& at, kubeconfig_cluster& out) {
    in.text(body, at, "server", out.server);
    in.path(body, at, "certificate-authority", out.certificate_authority);
    in.text(body, at, "certificate-authority-data", out.certificate_authority_data);
    in.flag(body, at, "insecure-skip-tls-verify", out.insecure_skip_tls_verify);
    in.text(body, at, "tls-server-name", out.tls_server_name);
    in.text(body, at, "proxy-url", out.proxy_url);
    const value::array_t* extensions = in.list(body, at, "extensions");
    if (extensions == nullptr) return;
    for (const value& one : *extensions) {
        const value* name = reader::member(one, "name");
        const value* content = reader::member(one, "extension");
        if (name == nullptr || content == nullptr || !name->is_string() || name->get_string() != exec_extension)
            continue;
        if (glz::write<escaping{}>(*content, out.exec_extension_json))
            in.mistaken(at, "extensions", "cannot be written as JSON");
    }
}

void read_exec(reader& in, const value& body, const std::string& at, kubeconfig_user& out) {
    exec_plugin& plugin = out.exec.emplace();
    in.text(body, at, "command", plugin.command);
    // As a shell does: a name without a slash is looked up in PATH.
    if (plugin.command.contains('/')) in.path(body, at, "command", plugin.command);
    in.texts(body, at, "args", plugin.arguments);
    in.text(body, at, "apiVersion", plugin.api_version);
    in.text(body, at, "installHint", plugin.install_hint);
    in.text(body, at, "interactiveMode", out.exec_interactive_mode);
    in.flag(body, at, "provideClusterInfo", plugin.provide_cluster_info);
    const value::array_t* variables = in.list(body, at, "env");
    if (variables == nullptr) return;
    for (std::size_t i = 0; i < variables->size(); ++i) {
        const std::string here = fmt::format("{}.env[{}]", at, i);
        auto& [name, content] = plugin.environment.emplace_back();
        in.text((*variables)[i], here, "name", name);
        in.text((*variables)[i], here, "value", content);
        if (name.empty() || name.contains('=')) in.mistaken(here, "name", "must be the name of a variable");
    }
}

void read_user(reader& in, const value& body, const std::string& at, kubeconfig_user& out) {
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
    if (const value* extra = in.mapping(body, at, "as-user-extra"); extra != nullptr) {
        for (const auto& [key, unused] : extra->get_object()) {
            std::vector<std::string> all;
            in.texts(*extra, at + ".as-user-extra", key, all);
            for (std::string& one : all) out.as.extra.emplace_back(key, std::move(one));
        }
    }
    if (const value* exec = in.mapping(body, at, "exec"); exec != nullptr) read_exec(in, *exec, at + ".exec", out);
    if (const value* provider = in.mapping(body, at, "auth-provider"); provider != nullptr) {
        out.auth_provider = "?";
        in.text(*provider, at + ".auth-provider", "name", out.auth_provider);
    }
}

void read_context(reader& in, const value& body, const std::string& at, kubeconfig_context& out) {
    in.text(body, at, "cluster", out.cluster);
    in.text(body, at, "user", out.user);
    in.text(body, at, "namespace", out.ns);
}

void read_document(reader& in, const value& document, kubeconfig& out) {
    if (!document.is_object())
        return in.mistaken(
            "the document", {},
            fmt::format("is {}, must be a mapping with clusters, contexts and users", kind_of(document)));
    std::string kind;
    in.text(document, {}, "kind", kind);
    if (!kind.empty() && kind != "Config")
        return in.mistaken({}, "kind",
                           fmt::format("is \"{}\", must be Config: this is no kubeconfig", base::one_line(kind, 80)));
    in.text(document, {}, "current-context", out.current_context);
    in.entries(document, "clusters", "cluster", out.clusters,
               [&in](const value& v, const std::string& at, auto& entry) { read_cluster(in, v, at, entry); });
    in.entries(document, "contexts", "context", out.contexts,
               [&in](const value& v, const std::string& at, auto& entry) { read_context(in, v, at, entry); });
    in.entries(document, "users", "user", out.users,
               [&in](const value& v, const std::string& at, auto& entry) { read_user(in, v, at, entry); });
}

// "line 3, column 5", counted from one.
std::string place_of(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
    const std::size_t start = before.rfind('\n');
    return fmt::format("line {}, column {}", line,
                       before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1);
}

}  // namespace

base::result<kubeconfig> parse_kubeconfig(std::string_view text, std::string_view file) {
    kubeconfig out;
    out.files.emplace_back(file);
    const auto refuse = [&](std::string what) {
        return base::fail(base::errc::invalid, fmt::format("kubeconfig {}: {}", file, what));
    };
    if (text.size() > kubeconfig_bytes_max)
        return refuse(fmt::format("is larger than {} MiB: split it and list the files in KUBECONFIG",
                                  kubeconfig_bytes_max >> 20U));
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        return refuse(place_of(text, nul) + ": has a NUL byte: save it as UTF-8 text");
    value document;
    if (const auto fault = glz::read_yaml(document, text)) {
        if (fault.ec == glz::error_code::exceeded_max_recursive_depth)
            return refuse(place_of(text, fault.count) + ": is nested more than 64 levels deep");
        return refuse(place_of(text, fault.count) + ": is not YAML: check the indentation, quotes and brackets there");
    }
    if (document.is_null()) return out;  // an empty file adds nothing, as with kubectl
    reader in(file);
    read_document(in, document, out);
    if (!in.mistake().empty()) return base::fail(base::errc::invalid, base::one_line(in.mistake(), 512));
    return out;
}

}  // namespace cotrain::kube
