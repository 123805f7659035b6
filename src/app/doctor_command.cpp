// `cotrain doctor`: options in, findings out, an exit code for scripts.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <iterator>

#include "app/command.hpp"
#include "app/doctor.hpp"
#include "kube/find_config.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view help =
    "usage: cotrain doctor [options]\n\n"
    "Looks at a cluster and says what is wrong and what to do: connection, versions, definitions, webhooks and their\n"
    "certificate, rights, Lease, gang schedulers, what an old controller left. Changes nothing.\n\n"
    "  --kubeconfig FILE       instead of KUBECONFIG, the Pod's account or ~/.kube/config\n"
    "  --context NAME          of the kubeconfig\n"
    "  --namespace NAME, -n    where the operator runs (default: where the webhooks' Service is, else "
    "kubeflow-system)\n"
    "  --service-account NAME  whose rights are looked at (default: kubeflow-trainer-controller-manager)\n"
    "  -o text|json            how to say it\n\n"
    "Exit codes: 0 no problem, 1 problems, 2 used wrongly.\n";

struct option {
    std::string_view name;
    std::string doctor_options::* text;
};
constexpr option options_with_text[] = {{"--kubeconfig", &doctor_options::kubeconfig},
                                        {"--context", &doctor_options::context},
                                        {"--namespace", &doctor_options::ns},
                                        {"-n", &doctor_options::ns},
                                        {"--service-account", &doctor_options::account}};

// "--name value" and "--name=value".
base::result<doctor_options> read_options(arguments words) {
    doctor_options o;
    const auto wrong = [](std::string why) { return base::fail(base::errc::invalid, "doctor: " + std::move(why)); };
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::size_t equal = words[i].find('=');
        const std::string name(words[i].substr(0, equal));
        const bool output = name == "-o" || name == "--output";
        const auto* const known = std::ranges::find(options_with_text, name, &option::name);
        if (!output && known == std::end(options_with_text))
            return wrong("no option '" + name + "'; see cotrain doctor --help");
        if (equal == std::string_view::npos && ++i == words.size()) return wrong(name + " needs a value");
        const std::string value(equal == std::string_view::npos ? words[i] : words[i].substr(equal + 1));
        if (!output) {
            o.*(known->text) = value;
        } else if (value == "text" || value == "json") {
            o.json = value == "json";
        } else {
            return wrong("-o text or -o json, not '" + value + "'");
        }
    }
    return o;
}

int print(const doctor_options& o, const findings& all) {
    std::fputs((o.json ? to_json(all) : to_text(all)).c_str(), stdout);
    return exit_code(all);
}

// Nothing could be asked.
int unreachable(const doctor_options& o, const base::error& why) {
    return print(o, {{.how = verdict::problem,
                      .area = "connection",
                      .what = why.message,
                      .remedy = "name a kubeconfig (--kubeconfig FILE, --context NAME), or run in a Pod"}});
}

awaitable<void> play(kube::client* api, examination* look, findings* found) {
    *found = co_await look->run();
    co_await api->stop();
}

}  // namespace

int run_doctor(arguments words) {
    for (const std::string_view w : words) {
        if (w != "--help" && w != "-h") continue;
        std::fputs(help.data(), stdout);
        return 0;
    }
    const auto options = read_options(words);
    if (!options) return used_wrongly(options.error().message);
    const auto config = kube::find_config(kube::surroundings::of_process(), options->kubeconfig, options->context);
    if (!config) return unreachable(*options, config.error());
    asio::io_context loop(1);
    kube::client_options with;
    with.user_agent = kube::user_agent(COTRAIN_VERSION);
    auto api = kube::client::make(loop.get_executor(), *config, with, base::stderr_logger());
    if (!api) return unreachable(*options, api.error());
    findings found;
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    examination look(**api, config->server, *options, now);
    asio::co_spawn(loop, play(api->get(), &look, &found), asio::detached);
    loop.run();
    return print(*options, found);
}

}  // namespace cotrain::app
