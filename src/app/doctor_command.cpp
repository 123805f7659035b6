// `cotrain doctor`: options in, findings out, an exit code for scripts.
#include <array>
#include <cstdio>

#include "app/cluster_command.hpp"
#include "app/config_flags.hpp"
#include "app/doctor.hpp"

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
    "  --service-account NAME  whose rights are looked at, and the Deployment's name\n"
    "                          (default: as the webhooks' Service, else kubeflow-trainer-controller-manager)\n"
    "  --config FILE           the operator's, where its Secret, Lease or rights are not those of the start\n"
    "  -o text|json            how to say it\n\n"
    "Exit codes: 0 no problem, 1 problems, 2 used wrongly.\n";

base::result<doctor_options> read_options(arguments words) {
    doctor_options o;
    std::string output = "text";
    operator_flags flags;
    const std::array known{text_option{"--kubeconfig", &o.kubeconfig},
                           text_option{"--context", &o.context},
                           text_option{"--namespace", &o.ns},
                           text_option{"-n", &o.ns},
                           text_option{"--service-account", &o.account},
                           text_option{"--config", &flags.config_file},
                           text_option{"-o", &output},
                           text_option{"--output", &output}};
    if (auto read = read_text_options("doctor", words, known); !read) return base::fail(std::move(read.error()));
    if (output != "text" && output != "json")
        return base::fail(base::errc::invalid, "doctor: -o text or -o json, not '" + output + "'");
    o.json = output == "json";
    if (flags.config_file.empty()) return o;
    const auto config = load_configuration(flags);
    if (!config) return base::fail(base::errc::invalid, "doctor: " + config.error().message);
    o.own = own_objects_of(*config);
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

awaitable<void> examine(kube::client* api, const kube::cluster_config* config, const doctor_options* options,
                        findings* found) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    examination look(*api, config->server, *options, now);
    *found = co_await look.run();
}

}  // namespace

int run_doctor(arguments words) {
    if (asks_for_help(words)) {
        std::fputs(help.data(), stdout);
        return 0;
    }
    const auto options = read_options(words);
    if (!options) return used_wrongly(options.error().message);
    findings found;
    const auto done = with_cluster(
        options->kubeconfig, options->context,
        [&](kube::client* api, const kube::cluster_config* config) { return examine(api, config, &*options, &found); });
    return done ? print(*options, found) : unreachable(*options, done.error());
}

}  // namespace cotrain::app
