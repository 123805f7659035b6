#include "app/hand_back/hand_back.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "api/managed_fields.hpp"
#include "api/names.hpp"
#include "app/cluster_command.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "reconcile/job_set_templates.hpp"

namespace cotrain::app {

namespace {

namespace names = api::names;

bool of_train_job(doc::ref job_set) {
    return std::ranges::any_of(job_set.get({"metadata", "ownerReferences"}).items(), [](doc::ref owner) {
        return owner.get("controller").as_bool(false) && owner.get("kind").as_string() == names::train_job_kind &&
               owner.get("apiVersion").as_string().starts_with(names::trainer_group);
    });
}

bool is_over(doc::ref job_set) {
    return std::ranges::any_of(job_set.get({"status", "conditions"}).items(), [](doc::ref c) {
        const std::string_view type = c.get("type").as_string();
        return (type == names::job_set_completed || type == names::job_set_failed) &&
               c.get("status").as_string() == "True";
    });
}

constexpr std::string_view help =
    "usage: cotrain hand-back [options]\n\n"
    "For the way back to the Kubeflow Trainer's own controller (docs/migrate.md): JobSet would refuse that one to\n"
    "stop or resume jobs whose Pods have variables that only Cotrain knows. What nobody can change of the JobSets of\n"
    "unfinished jobs gets a second owner, the field manager \"cotrain\", and stays as it is. Jobs are not changed.\n"
    "Before or after that controller starts; as often as you like.\n\n"
    "  --kubeconfig FILE       instead of KUBECONFIG, the Pod's account or ~/.kube/config\n"
    "  --context NAME          of the kubeconfig\n"
    "  -n, --namespace NAME    in this namespace only\n"
    "  -A, --all-namespaces    in all of them: the default\n"
    "  --dry-run               only say how many there are\n";

constexpr kube::resource job_sets{api::names::job_set.group, api::names::job_set.version, api::names::job_set.plural,
                                  api::names::job_set.kind};
constexpr std::uint32_t page_items = 200;

struct hand_back_run {
    std::string kubeconfig{}, context{}, ns{};
    bool all_namespaces = false, dry_run = false;
    std::size_t done = 0, before = 0, failed = 0;
};

void failed(hand_back_run* run, const base::error& why) {
    std::fprintf(stderr, "cotrain hand-back: %s\n", why.message.c_str());
    ++run->failed;
}

awaitable<void> hand_back_one(kube::client* api, hand_back_run* run, doc::ref job_set) {
    hand_back plan = plan_hand_back(job_set);
    if (plan.need == hand_back_need::done) ++run->before;
    if (plan.need != hand_back_need::some) co_return;
    const doc::ref meta = job_set.get("metadata");
    const auto answer =
        co_await api->apply(job_sets, {.ns = meta.get("namespace").as_string(), .name = meta.get("name").as_string()},
                            std::move(plan.apply), false, {.field_manager = second_owner, .dry_run = run->dry_run});
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
        doc::arena memory;
        const auto list = doc::parse_json(memory, (*page)->body);
        if (!list) co_return failed(run, list.error());
        for (const doc::ref each : list->get("items").items()) co_await hand_back_one(api, run, each);
    }
}

}  // namespace

hand_back plan_hand_back(doc::ref job_set) {
    const doc::ref meta = job_set.get("metadata");
    if (!of_train_job(job_set) || is_over(job_set) || !meta.get("deletionTimestamp").is_unset()) return {};
    if (api::applied_fields(job_set, second_owner)) return {hand_back_need::done};
    doc::arena memory;
    const doc::ref jobs = reconcile::applied_fixed_jobs(memory, job_set);
    if (jobs.empty()) return {};
    doc::editor out = doc::editor::object(memory);
    out.set("apiVersion", names::job_set.api_version).set("kind", names::job_set.kind);
    doc::editor identity = out.ensure_object("metadata");
    // With its uid, so that none is made where this one has gone meanwhile.
    for (const std::string_view key : {"namespace", "name", "uid"}) identity.set(key, meta.get(key));
    out.ensure_object("spec").set("replicatedJobs", jobs);
    return {hand_back_need::some, doc::to_json(out)};
}

namespace {

std::vector<option> table_of(hand_back_run& to) {
    return {text_option("--kubeconfig", to.kubeconfig),
            text_option("--context", to.context),
            text_option("--namespace", to.ns),
            text_option("-n", to.ns),
            switch_option("--all-namespaces", to.all_namespaces),
            switch_option("-A", to.all_namespaces),
            switch_option("--dry-run", to.dry_run)};
}

}  // namespace

std::vector<option_word> hand_back_words() {
    hand_back_run none;
    return words_of(table_of(none));
}

int run_hand_back(arguments words) {
    if (asks_for_help(words)) {
        std::fputs(help.data(), stdout);
        return 0;
    }
    hand_back_run run;
    if (const auto read = read_options(words, table_of(run)); !read)
        return used_wrongly("hand-back: " + read.error().message);
    if (run.all_namespaces && !run.ns.empty())
        return used_wrongly("hand-back: --namespace and --all-namespaces exclude each other");
    const auto done = with_cluster(
        run.kubeconfig, run.context,
        [&run](kube::client* api, const kube::cluster_config*) { return hand_back_all(api, &run); },
        patience::unbounded);
    if (!done) failed(&run, done.error());
    std::printf("%zu JobSets of unfinished TrainJobs %s a second owner, %zu have it already, %zu failed\n", run.done,
                run.dry_run ? "would get" : "got", run.before, run.failed);
    return run.failed == 0 ? 0 : 1;
}

}  // namespace cotrain::app
