// Any bytes as kubeconfig files: no crash, bounded one-line errors, and nothing unsafe in what is accepted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/encoding.hpp"
#include "budget.hpp"
#include "kube/config.hpp"
#include "kube/kubeconfig.hpp"

namespace {

using namespace cotrain;
using namespace cotrain::kube;

void demand(bool holds) {
    if (!holds) std::abort();
}

void demand_one_line(const base::error& e) {
    demand(e.code == base::errc::invalid && e.message.starts_with("kubeconfig /f/") && e.message.size() < 1000);
    demand(header_text(e.message));
}

// What goes into requests and addresses must be fit for them.
void check(const cluster_config& c) {
    demand(c.scheme == "http" || c.scheme == "https");
    demand(!c.host.empty() && visible_ascii(c.host) && c.port != 0);
    demand(visible_ascii(c.base_path) && !c.base_path.ends_with('/') && visible_ascii(c.tls_server_name));
    demand(visible_ascii(c.user.token) && header_text(c.user.as.user) && header_text(c.user.as.uid));
    for (const std::string& group : c.user.as.groups) demand(header_text(group));
    for (const auto& [key, value] : c.user.as.extra) demand(!key.empty() && header_text(value));
    demand(!c.insecure || c.ca.empty());
    demand(c.ca.pem.empty() || c.ca.file.empty());
    demand(c.user.certificate.empty() == c.user.key.empty());
    demand(c.user.exec.command.empty() || (c.user.token.empty() && c.user.username.empty()));
    demand(c.user.exec.environment.size() < kubeconfig_bytes_max);
}

void check_url(std::string_view text) {
    const auto url = parse_server_url(text, true);
    if (!url) return demand(url.error().message.size() < 300 && header_text(url.error().message));
    demand(!url->host.empty() && url->port != 0);
}

void check_base64(std::string_view text) {
    if (const auto bytes = base::decode_base64(text))
        demand(base::decode_base64(base::encode_base64(*bytes)) == *bytes);
}

}  // namespace

// The files are separated by lines of "%%%".
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    fuzz::at_two_sizes(rest, [](std::string_view text) {
        fuzz::within_budget("a kubeconfig", text.size(), [&] { (void)parse_kubeconfig(text, "/f/budget"); });
    });
    check_url(rest.substr(0, 300));
    check_base64(rest);
    std::vector<kubeconfig> files;
    std::vector<std::string> contexts{""};
    while (files.size() < 4) {
        const std::size_t mark = rest.find("\n%%%\n");
        // A copy of exactly this size, so that a byte too far is seen.
        const std::vector<char> text(rest.begin(), rest.begin() + static_cast<long>(std::min(mark, rest.size())));
        auto one = parse_kubeconfig({text.data(), text.size()}, "/f/" + std::to_string(files.size()));
        if (!one) {
            demand_one_line(one.error());
            return 0;
        }
        for (const auto& context : one->contexts)
            if (contexts.size() < 8) contexts.push_back(context.name);
        files.push_back(std::move(*one));
        if (mark == std::string_view::npos) break;
        rest.remove_prefix(mark + 5);
    }
    const kubeconfig merged = merge_kubeconfigs(std::move(files));
    for (const std::string& context : contexts) {
        const auto made = resolve_kubeconfig(merged, context);
        if (made)
            check(*made);
        else
            demand_one_line(made.error());
    }
    return 0;
}
