// `cotrain probe`: reaches a cluster as the operator would and says what it finds there.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <string>

#include "app/command.hpp"
#include "kube/client.hpp"
#include "kube/find_config.hpp"

namespace cotrain::app {

namespace {

constexpr kube::resource wanted[] = {
    {"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"},
    {"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"},
    {"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"},
    {"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"},
};

struct options {
    std::string kubeconfig;
    std::string context;
};

int failed(const base::error& why) {
    std::fprintf(stderr, "cotrain probe: %s\n", why.message.c_str());
    return 1;
}

awaitable<int> ask(kube::client* api) {
    const auto version = co_await api->version();
    if (!version) co_return failed(version.error());
    std::printf("server version: %s\n", version->git_version.c_str());
    for (const kube::resource& each : wanted) {
        const auto there = co_await api->exists(each);
        if (!there) co_return failed(there.error());
        std::printf("%.*s.%.*s/%.*s: %s\n", static_cast<int>(each.plural.size()), each.plural.data(),
                    static_cast<int>(each.group.size()), each.group.data(), static_cast<int>(each.version.size()),
                    each.version.data(), *there ? "served" : "not there");
    }
    co_return 0;
}

awaitable<void> play(kube::client* api, int* code) {
    *code = co_await ask(api);
    co_await api->stop();
}

}  // namespace

int run_probe(arguments words) {
    options o;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        if (i + 1 == words.size()) return used_wrongly("probe: " + std::string(words[i]) + " needs a value");
        if (words[i] == "--kubeconfig") {
            o.kubeconfig = words[i + 1];
        } else if (words[i] == "--context") {
            o.context = words[i + 1];
        } else {
            return used_wrongly("probe: no option '" + std::string(words[i]) +
                                "'; there are --kubeconfig FILE and --context NAME");
        }
    }
    const auto config = kube::find_config(kube::surroundings::of_process(), o.kubeconfig, o.context);
    if (!config) return failed(config.error());
    asio::io_context loop(1);
    kube::client_options with;
    with.user_agent = kube::user_agent(COTRAIN_VERSION);
    auto api = kube::client::make(loop.get_executor(), *config, with, base::stderr_logger());
    if (!api) return failed(api.error());
    int code = 1;
    asio::co_spawn(loop, play(api->get(), &code), asio::detached);
    loop.run();
    return code;
}

}  // namespace cotrain::app
