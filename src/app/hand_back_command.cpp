// `cotrain hand-back`: JobSets of all namespaces, one after the other.
#include <array>
#include <cstdio>

#include "api/json.hpp"
#include "api/names.hpp"
#include "app/cluster_command.hpp"
#include "app/hand_back.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view help =
    "usage: cotrain hand-back [options]\n\n"
    "For the way back to the Kubeflow Trainer's own controller (docs/migrate.md): JobSet would refuse that one to\n"
    "stop or resume jobs whose Pods have variables that only Cotrain knows. What nobody can change of the JobSets of\n"
    "unfinished jobs gets a second owner, the field manager \"cotrain\", and stays as it is. Jobs are not changed.\n"
    "Before or after that controller starts; as often as you like.\n\n"
    "  --kubeconfig FILE       instead of KUBECONFIG, the Pod's account or ~/.kube/config\n"
    "  --context NAME          of the kubeconfig\n"
    "  --namespace NAME, -n    in this namespace only\n"
    "  --dry-run               only say how many there are\n";

constexpr kube::resource job_sets{api::names::job_set.group, api::names::job_set.version, api::names::job_set.plural,
                                  api::names::job_set.kind};
constexpr std::uint32_t page_items = 200;

struct hand_back_run {
    std::string kubeconfig{}, context{}, ns{}, dry_run{};
    std::size_t done = 0, before = 0, failed = 0;
};

void failed(hand_back_run* run, const base::error& why) {
    std::fprintf(stderr, "cotrain hand-back: %s\n", why.message.c_str());
    ++run->failed;
}

awaitable<void> hand_back_one(kube::client* api, hand_back_run* run, api::ref job_set) {
    hand_back plan = plan_hand_back(job_set);
    if (plan.need == hand_back_need::done) ++run->before;
    if (plan.need != hand_back_need::some) co_return;
    const api::ref meta = job_set.get("metadata");
    const auto answer = co_await api->apply(
        job_sets, {.ns = meta.get("namespace").as_string(), .name = meta.get("name").as_string()},
        std::move(plan.apply), false, {.field_manager = second_owner, .dry_run = !run->dry_run.empty()});
    if (answer) {
        ++run->done;
    } else if (answer.error().http_status != 409) {  // gone, or another one by now
        failed(run, answer.error());
    }
}

awaitable<void> hand_back_all(kube::client* api, hand_back_run* run) {
    kube::list_pages pages = api->pages(job_sets, run->ns, {.limit = page_items});
    while (true) {
        const auto page = co_await pages.next();
        if (!page) co_return failed(run, page.error());
        if (!*page) co_return;
        api::arena memory;
        const auto list = api::parse_json(memory, (*page)->body);
        if (!list) co_return failed(run, list.error());
        for (const api::ref each : list->get("items").items()) co_await hand_back_one(api, run, each);
    }
}

}  // namespace

int run_hand_back(arguments words) {
    if (asks_for_help(words)) {
        std::fputs(help.data(), stdout);
        return 0;
    }
    hand_back_run run;
    const std::array known{text_option{"--kubeconfig", &run.kubeconfig}, text_option{"--context", &run.context},
                           text_option{"--namespace", &run.ns}, text_option{"-n", &run.ns}};
    const std::array flags{text_option{"--dry-run", &run.dry_run}};
    if (const auto read = read_text_options("hand-back", words, known, flags); !read)
        return used_wrongly(read.error().message);
    const auto done = with_cluster(run.kubeconfig, run.context, [&run](kube::client* api, const kube::cluster_config*) {
        return hand_back_all(api, &run);
    });
    if (!done) failed(&run, done.error());
    std::printf("%zu JobSets of unfinished TrainJobs %s a second owner, %zu have it already, %zu failed\n", run.done,
                run.dry_run.empty() ? "got" : "would get", run.before, run.failed);
    return run.failed == 0 ? 0 : 1;
}

}  // namespace cotrain::app
