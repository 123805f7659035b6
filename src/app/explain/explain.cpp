// `cotrain explain`: reads a TrainJob and its children from a cluster and says what made them what they are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cluster_command.hpp"
#include "app/cluster_objects.hpp"
#include "app/explain/layers.hpp"
#include "app/explain/live.hpp"
#include "app/explain/print.hpp"
#include "app/render/planner.hpp"
#include "doc/json.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/normalise.hpp"

namespace cotrain::app {

namespace {

namespace names = api::names;

constexpr std::string_view help =
    "usage: cotrain explain trainjob NAME [options]\n"
    "       cotrain explain trainjobs -l SELECTOR | -A [options]\n\n"
    "Says what a TrainJob waits for or why it failed, what was made for it, and for each field of its JobSet which\n"
    "layer set it: the runtime, a patch, the TrainJob itself, a plugin, a default, another manager. Changes "
    "nothing.\n\n"
    "  -n, --namespace NAME    of the TrainJob (default: the context's)\n"
    "  -A, --all-namespaces    all TrainJobs of all namespaces\n"
    "  -l, --selector LABELS   all TrainJobs with these labels: team=vision,tier!=test\n"
    "  --kubeconfig FILE       instead of KUBECONFIG, the Pod's account or ~/.kube/config\n"
    "  --context NAME          of the kubeconfig\n"
    "  --config FILE           the operator's, for its feature gates and plugins\n"
    "  -o, --output text|json  json: the fields of one JobSet, each with path, value and layer\n\n"
    "From files: cotrain render -o explain.\n"
    "Exit codes: 0 done, 1 not there or not reached, 2 used wrongly.\n";

constexpr std::uint32_t page_items = 200;

struct explain_options {
    cluster_options at{};
    std::string name{};  // empty: all in that namespace
    bool all_namespaces = false;
    std::string selector{};
    std::string format = "text";
    std::string config_file{};
    runtime::plugin_options plugins{};
};

std::vector<option> table_of(explain_options& to) {
    constexpr std::string_view formats = "text json";
    std::vector<option> out{text_option("-n", to.at.ns),
                            text_option("--namespace", to.at.ns),
                            switch_option("-A", to.all_namespaces),
                            switch_option("--all-namespaces", to.all_namespaces),
                            text_option("-l", to.selector),
                            text_option("--selector", to.selector),
                            text_option("--kubeconfig", to.at.kubeconfig),
                            text_option("--context", to.at.context),
                            text_option("--config", to.config_file),
                            text_option("-o", to.format),
                            text_option("--output", to.format)};
    for (option& each : out)
        if (each.name == "-o" || each.name == "--output") each.choices = formats;
    return out;
}

// "trainjob NAME", "trainjob/NAME", "tj NAME"; cuts them off.
base::result<> take_name(arguments& words, explain_options& to) {
    constexpr std::array kinds{std::string_view("trainjob"), std::string_view("trainjobs"), std::string_view("tj"),
                               std::string_view("trainjobs.trainer.kubeflow.org")};
    const std::string_view first = words.empty() ? std::string_view{} : words[0];
    const std::string_view kind = first.substr(0, first.find('/'));
    if (std::ranges::find(kinds, kind) == kinds.end())
        return base::fail(base::errc::invalid, "takes 'trainjob NAME', and then options");
    words = words.subspan(1);
    if (first.size() != kind.size()) {
        to.name = first.substr(kind.size() + 1);
    } else if (!words.empty() && !words[0].starts_with('-')) {
        to.name = words[0];
        words = words.subspan(1);
    }
    return {};
}

// As kubectl has them: a name is of one namespace, and labels are instead of it.
base::result<> check(const explain_options& o) {
    const auto wrong = [](std::string why) { return base::fail(base::errc::invalid, std::move(why)); };
    const bool many = o.all_namespaces || !o.selector.empty();
    if (o.all_namespaces && !o.at.ns.empty()) return wrong("--namespace and --all-namespaces exclude each other");
    if (many && !o.name.empty()) return wrong("takes a name, or -A and -l");
    if (!many && o.name.empty()) return wrong("which TrainJob? cotrain explain trainjob NAME");
    if (o.format != "text" && o.format != "json")
        return wrong("-o takes text or json, not '" + base::one_line(o.format, 80) + "'");
    if (many && o.format == "json") return wrong("-o json takes the name of one TrainJob");
    return {};
}

struct answer {
    int code = 1;
    std::string out;
    std::string err;
};

void print(const explain_options& o, doc::ref document, const layer_map& layers, std::string_view heading, answer& to) {
    if (o.format == "json") {
        to.out = to_explained_json(document, layers);
    } else {
        to.out += fmt::format("\n# {}: each field, and what set it\n", heading) + to_explained_yaml(document, layers);
    }
}

// What was read of the job, and what is said of it.
struct findings_of_job {
    doc::ref job;
    doc::ref runtime;
    std::vector<found_object> children;
};

doc::ref child_of(const std::vector<found_object>& children, const api::resource_type& type, std::string_view name) {
    for (const found_object& each : children)
        if (each.type->kind == type.kind && each.type->group == type.group && each.name == name) return each.document;
    return {};
}

base::result<std::shared_ptr<const runtime::compiled_runtime>> runtime_for(const api::train_job& job, doc::ref snapshot,
                                                                           doc::ref live) {
    if (snapshot) return runtime::read_snapshot(job, snapshot);
    if (live) return runtime::compiled_runtime::compile(live);
    return base::fail(base::errc::invalid,
                      fmt::format("{} {} is not there", job.spec.runtime.kind, job.spec.runtime.name));
}

base::result<> explain(const explain_options& o, const findings_of_job& found, answer& to) {
    doc::arena memory(doc::plan_bytes_max);
    auto job = api::decode_train_job(runtime::with_defaults(memory, found.job));
    if (!job) return base::fail(std::move(job.error()));
    const std::string name(job->meta.name);
    const doc::ref snapshot = child_of(found.children, names::config_map, name + std::string(names::snapshot_suffix));
    const doc::ref set = child_of(found.children, names::job_set, name);
    if (o.format != "json") {
        to.out += describe_job(found.job, fmt::format("{} {}{}", job->spec.runtime.kind, job->spec.runtime.name,
                                                      snapshot ? ", as it was when the job was made" : ""));
        to.out += describe_children(found.children);
    }
    const auto runtime = runtime_for(*job, snapshot, found.runtime);
    base::result<explained> planned =
        runtime ? explain_layers(memory, *job, **runtime, o.plugins) : base::fail(runtime.error());
    const std::string heading = fmt::format("JobSet {}/{}", job->meta.ns, name);
    if (!planned && !set) return base::fail(std::move(planned.error()));
    if (!planned) {
        to.err += "Warning: " + planned.error().message + "\n";
        planned = explained{};
    }
    if (!set) {
        print(o, planned->job_set, planned->layers, heading + " is not there; as planned", to);
    } else {
        print(o, explained_part(memory, set), live_layers(set, *planned), heading, to);
    }
    return {};
}

awaitable<base::result<>> read_and_explain(kube::client* api, const explain_options* o, std::string ns,
                                           std::string name, answer* to) {
    cluster_objects cluster(*api);
    findings_of_job found;
    auto job = co_await cluster.get(&names::train_job, ns, name);
    if (!job) co_return base::fail(std::move(job.error()));
    if (!*job) co_return base::fail(base::errc::invalid, fmt::format("TrainJob {}/{} is not there", ns, name));
    found.job = *job;
    // Without the right to read runtimes, the job's snapshot of it does.
    const auto runtime = co_await cluster.runtime_of(found.job, ns);
    if (runtime) found.runtime = *runtime;
    const auto plugins = plugins_of({.plugins = o->plugins});
    found.children = co_await cluster.children(plugins->children(), ns, name);
    co_return explain(*o, found, *to);
}

struct job_name {
    std::string ns;
    std::string name;
};

awaitable<base::result<std::vector<job_name>>> find_jobs(kube::client* api, const explain_options* o, std::string ns) {
    constexpr kube::resource train_jobs{names::train_job.group, names::train_job.version, names::train_job.plural,
                                        names::train_job.kind};
    std::vector<job_name> out;
    kube::list_pages pages =
        api->pages(train_jobs, o->all_namespaces ? "" : ns, {.label_selector = o->selector, .limit = page_items});
    while (true) {
        const auto page = co_await pages.next();
        if (!page) co_return base::fail(page.error());
        if (!*page) co_return out;
        doc::arena memory(doc::arena_bytes_max);
        const auto list = doc::parse_json(memory, (*page)->body);
        if (!list) co_return base::fail(list.error());
        for (const doc::ref each : list->get("items").items())
            out.push_back({std::string(each.get({"metadata", "namespace"}).as_string()),
                           std::string(each.get({"metadata", "name"}).as_string())});
    }
}

// A job that cannot be explained does not keep others from it.
awaitable<void> play(kube::client* api, const explain_options* o, answer* to) {
    std::string ns = o->at.ns.empty() ? api->default_namespace() : o->at.ns;
    if (ns.empty()) ns = "default";
    base::result<std::vector<job_name>> jobs = std::vector{job_name{ns, o->name}};
    if (o->name.empty()) jobs = co_await find_jobs(api, o, ns);
    if (!jobs) {
        to->err = "error: " + jobs.error().message + "\n";
        co_return;
    }
    to->code = 0;
    if (jobs->empty()) to->err = "no TrainJobs found\n";
    for (const job_name& each : *jobs) {
        if (!to->out.empty()) to->out += "\n\n";
        const auto done = co_await read_and_explain(api, o, each.ns, each.name, to);
        if (done) continue;
        to->code = 1;
        to->err += "error: " + (o->name.empty() ? each.ns + "/" + each.name + ": " : "") + done.error().message + "\n";
    }
}

}  // namespace

std::vector<option_word> explain_words() {
    explain_options none;
    return words_of(table_of(none));
}

int run_explain(arguments words) {
    if (asks_for_help(words)) {
        std::fputs(help.data(), stdout);
        return 0;
    }
    explain_options o;
    if (auto taken = take_name(words, o); !taken) return used_wrongly("explain: " + taken.error().message);
    if (auto read = read_options(words, table_of(o)); !read) return used_wrongly("explain: " + read.error().message);
    if (auto good = check(o); !good) return used_wrongly("explain: " + good.error().message);
    const auto rules = read_plan_rules(o.config_file);
    if (!rules) return used_wrongly("explain: " + rules.error().message);
    o.plugins = rules->plugins;
    answer said;
    const auto done = with_cluster(o.at.kubeconfig, o.at.context, [&](kube::client* api, const kube::cluster_config*) {
        return play(api, &o, &said);
    });
    if (!done) return used_wrongly("explain: " + done.error().message);
    std::fputs(said.out.c_str(), stdout);
    std::fputs(said.err.c_str(), stderr);
    return said.code;
}

}  // namespace cotrain::app
