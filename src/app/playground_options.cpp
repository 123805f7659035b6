// Reads the playground's options.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "app/playground.hpp"
#include "kube/read_file.hpp"

namespace cotrain::app {

namespace {

constexpr std::size_t faults_bytes_max = 64UL * 1024;

std::unexpected<base::error> wrong(std::string_view option, std::string_view what) {
    return base::fail(base::errc::invalid, fmt::format("--{}: {}", option, what));
}

base::result<std::uint16_t> read_port(std::string_view option, std::string_view text) {
    std::uint16_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty())
        return wrong(option, fmt::format("'{}' is no port; 0 to 65535, 0 is any free one", text));
    return out;
}

// A file if it begins with @, else the rules themselves.
base::result<std::vector<sim::fault_rule>> read_fault_rules(std::string_view value) {
    if (!value.starts_with('@')) return sim::read_faults(value);
    auto text = kube::read_file(std::string(value.substr(1)), faults_bytes_max);
    if (!text) return base::fail(std::move(text.error()));
    return sim::read_faults(*text);
}

base::result<> set(playground_options& out, std::string_view name, std::string_view value) {
    if (name == "port" || name == "page-port") {
        auto port = read_port(name, value);
        if (!port) return base::fail(std::move(port.error()));
        (name == "port" ? out.port : out.page_port) = *port;
    } else if (name == "kubeconfig" || name == "snapshot") {
        if (value.empty()) return wrong(name, "needs the name of a file");
        (name == "kubeconfig" ? out.kubeconfig : out.snapshot) = value;
    } else if (name == "script") {
        auto script = sim::read_script(value);
        if (!script) return base::fail(std::move(script.error()).during("--script"));
        out.script = *script;
    } else {
        auto rules = read_fault_rules(value);
        if (!rules) return base::fail(std::move(rules.error()).during("--faults"));
        out.faults = std::move(*rules);
    }
    return {};
}

}  // namespace

std::string_view playground_help() {
    return "usage: cotrain playground [options]\n\n"
           "An API server on this machine's loopback with our operator in it, for kubectl and for programs, until\n"
           "Ctrl-C. JobSets are played: Jobs and Pods appear, get ready and end by a script.\n\n"
           "  --kubeconfig FILE   where to write the kubeconfig (default: a temporary file, removed at the end)\n"
           "  --port N            of the API server (default: any free one)\n"
           "  --page-port N       of the page that shows TrainJobs (default: any free one)\n"
           "  --no-page           no page\n"
           "  --no-operator       no operator of ours: run your own with the kubeconfig\n"
           "  --snapshot FILE     objects are read from it at the start, if it is there, and written to it at the end\n"
           "  --script TEXT       how JobSets fare: \"start 100ms, ready 300ms, run 1500ms, succeed\" is the default;\n"
           "                      also fail, never, no-pods. A TrainJob's annotation playground.cotrain/script wins\n"
           "  --faults RULES      trouble by rules, or @FILE with them: \"every 10 patch * status 429 retry-after 1;\n"
           "                      5% * * delay 200ms; once watch trainjobs expire\"; docs/playground.md has all\n"
           "  --verbose           the operator's log on standard error\n";
}

base::result<playground_options> read_playground_options(arguments words) {
    playground_options out;
    constexpr std::array valued{"port", "page-port", "kubeconfig", "snapshot", "script", "faults"};
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string_view word = words[i];
        if (word == "--help" || word == "-h") {
            out.help = true;
        } else if (word == "--no-page") {
            out.page = false;
        } else if (word == "--no-operator") {
            out.with_operator = false;
        } else if (word == "--verbose") {
            out.verbose = true;
        } else {
            const std::size_t sign = word.find('=');
            const std::string_view name =
                word.starts_with("--") ? word.substr(2, sign == std::string_view::npos ? sign : sign - 2) : "";
            if (std::ranges::find(valued, name) == valued.end())
                return base::fail(base::errc::invalid, fmt::format("unknown option '{}'; --help lists them", word));
            if (sign == std::string_view::npos && i + 1 == words.size()) return wrong(name, "needs a value");
            const std::string_view value = sign == std::string_view::npos ? words[++i] : word.substr(sign + 1);
            if (auto done = set(out, name, value); !done) return base::fail(std::move(done.error()));
        }
    }
    return out;
}

}  // namespace cotrain::app
