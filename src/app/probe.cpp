// `cotrain probe`: reaches a cluster as the operator would and says what it finds there.
#include <cstdio>
#include <string>
#include <vector>

#include "app/cluster_command.hpp"

namespace cotrain::app {

namespace {

constexpr kube::resource wanted[] = {
    {"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"},
    {"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"},
    {"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"},
    {"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"},
};

constexpr std::string_view help =
    "usage: cotrain probe [options]\n\n"
    "Reaches a cluster as the operator would: its version, and which CRDs it has of those that matter.\n\n"
    "  --kubeconfig FILE   instead of KUBECONFIG, the Pod's account or ~/.kube/config\n"
    "  --context NAME      of the kubeconfig\n\n"
    "Exit codes: 0 reached, 1 not reached, 2 used wrongly.\n";

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

awaitable<void> play(kube::client* api, int* code) { *code = co_await ask(api); }

struct probe_options {
    std::string kubeconfig{};
    std::string context{};
};

std::vector<option> table_of(probe_options& to) {
    return {text_option("--kubeconfig", to.kubeconfig), text_option("--context", to.context)};
}

}  // namespace

std::vector<option_word> probe_words() {
    probe_options none;
    return words_of(table_of(none));
}

int run_probe(arguments words) {
    if (asks_for_help(words)) {
        std::fputs(help.data(), stdout);
        return 0;
    }
    probe_options o;
    if (const auto read = read_options(words, table_of(o)); !read)
        return used_wrongly("probe: " + read.error().message);
    int code = 1;
    const auto done = with_cluster(o.kubeconfig, o.context,
                                   [&](kube::client* api, const kube::cluster_config*) { return play(api, &code); });
    return done ? code : used_wrongly("probe: " + done.error().message);
}

}  // namespace cotrain::app
