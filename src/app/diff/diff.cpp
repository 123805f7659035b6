// `cotrain diff`: what applying files would change on a cluster.
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "app/cluster_command.hpp"
#include "app/cluster_objects.hpp"
#include "app/diff/compare.hpp"
#include "app/render/manifests.hpp"
#include "crd/crd.hpp"

namespace cotrain::app {

namespace {

namespace names = api::names;

constexpr std::string_view help =
    "usage: cotrain diff -f FILE|FOLDER|- … [options]\n\n"
    "Says what would change on the cluster if these TrainJobs and runtimes were applied, as `kubectl apply` applies\n"
    "them: the objects themselves, and what the operator would make of them (JobSet, PodGroup, …). Says what JobSet\n"
    "would refuse, since templates of a running JobSet cannot be changed. Changes nothing; Secrets are not shown.\n\n"
    "  -f, --filename FILE     a file, a folder's *.yaml, *.yml and *.json, or - for standard input\n"
    "  -n, --namespace NAME    of objects that name none (default: the context's)\n"
    "  --kubeconfig FILE       instead of KUBECONFIG, the Pod's account or ~/.kube/config\n"
    "  --context NAME          of the kubeconfig\n"
    "  --config FILE           the operator's, for its feature gates and plugins\n\n"
    "Exit codes, as kubectl diff: 0 no difference, 1 differences, 2 refused, not reached or used wrongly.\n";

struct diff_options {
    cluster_options at{};
    std::string config_file{};
    std::vector<std::string> files{};
};

std::vector<option> table_of(diff_options& to) {
    const auto file = [&to](std::string_view value) -> base::result<> {
        if (value.empty()) return base::fail(base::errc::invalid, "needs a value");
        to.files.emplace_back(value);
        return {};
    };
    return {{"-f", file},
            {"--filename", file},
            text_option("-n", to.at.ns),
            text_option("--namespace", to.at.ns),
            text_option("--kubeconfig", to.at.kubeconfig),
            text_option("--context", to.at.context),
            text_option("--config", to.config_file)};
}

class diff_run {
   public:
    diff_run(kube::client& api, const manifests& given, std::string ns, const plan_rules& rules)
        : api_(api), cluster_(api), given_(given), ns_(std::move(ns)), rules_(rules), plugins_(plugins_of(rules)) {}

    awaitable<base::result<comparison>> run() {
        if (ns_.empty()) ns_ = api_.default_namespace();
        if (ns_.empty()) ns_ = "default";
        std::vector<manifest> applied;
        for (const manifest& m : given_.list()) {
            manifest one = m;
            if (auto done = co_await look_at(&one); !done) co_return base::fail(std::move(done.error()));
            applied.push_back(std::move(one));
        }
        co_return compare(applied, live_, ns_, rules_);
    }

   private:
    static const api::resource_type* type_of(doc::ref document) {
        if (document.get("apiVersion").as_string() != names::trainer_api_version) return nullptr;
        for (const crd::definition& each : crd::definitions()) {
            if (each.resource.kind != document.get("kind").as_string()) continue;
            return &each.resource;
        }
        return nullptr;
    }

    // Reads what the cluster has of the object and its children; the object becomes what applying makes of it.
    awaitable<base::result<>> look_at(manifest* m) {
        const api::resource_type* const type = type_of(m->document);
        const std::string name(m->document.get({"metadata", "name"}).as_string());
        if (type == nullptr || name.empty()) co_return base::result<>{};
        const auto own = m->document.get({"metadata", "namespace"}).as_string();
        const std::string ns = own.empty() ? ns_ : std::string(own);
        auto there = co_await cluster_.get(type, ns, name);
        if (!there) co_return base::fail(std::move(there.error()));
        live_.add(*type, ns, name, *there);
        m->document = applied_over(memory_, m->document, *there);
        if (type->kind != names::train_job_kind) co_return base::result<>{};
        co_return co_await look_at_children(m->document, ns, name);
    }

    awaitable<base::result<>> look_at_children(doc::ref job, std::string ns, std::string name) {
        auto runtime = co_await cluster_.runtime_of(job, ns);
        if (!runtime) co_return base::fail(std::move(runtime.error()));
        const doc::ref wanted = job.get({"spec", "runtimeRef"});
        const bool own = wanted.get("kind").as_string() == names::training_runtime_kind;
        live_.add(own ? names::training_runtime : names::cluster_training_runtime, ns, wanted.get("name").as_string(),
                  *runtime);
        const auto children = co_await cluster_.children(plugins_->children(), ns, name);
        for (const found_object& each : children) {
            if (!each.trouble.empty()) co_return base::fail(base::errc::status, each.trouble);
            live_.add(*each.type, ns, each.name, each.document);
        }
        co_return base::result<>{};
    }

    kube::client& api_;
    cluster_objects cluster_;
    const manifests& given_;
    std::string ns_;
    const plan_rules& rules_;
    runtime::plugins plugins_;
    doc::arena memory_{doc::arena_bytes_max};
    live_objects live_;
};

struct diff_answer {
    base::result<comparison> made = base::fail(base::errc::internal, "nothing was compared");
};

awaitable<void> play(kube::client* api, const manifests* given, std::string ns, const plan_rules* rules,
                     diff_answer* to) {
    diff_run run(*api, *given, std::move(ns), *rules);
    to->made = co_await run.run();
}

int failed(const std::string& why) {
    std::fprintf(stderr, "error: %s\n", why.c_str());
    return 2;
}

}  // namespace

std::vector<option_word> diff_words() {
    diff_options none;
    return words_of(table_of(none));
}

int run_diff(arguments words) {
    if (asks_for_help(words)) {
        std::fputs(help.data(), stdout);
        return 0;
    }
    diff_options o;
    if (auto read = read_options(words, table_of(o)); !read) return used_wrongly("diff: " + read.error().message);
    if (o.files.empty()) return used_wrongly("diff: nothing to read: give -f FILE, -f FOLDER or -f -");
    const auto rules = read_plan_rules(o.config_file);
    if (!rules) return failed(rules.error().message);
    manifests given;
    for (const std::string& path : o.files)
        if (auto read = given.add_path(path, stdin); !read) return failed(read.error().message);
    for (const std::string& warning : given.warnings()) std::fprintf(stderr, "Warning: %s\n", warning.c_str());
    diff_answer answer;
    const auto done = with_cluster(o.at.kubeconfig, o.at.context, [&](kube::client* api, const kube::cluster_config*) {
        return play(api, &given, o.at.ns, &*rules, &answer);
    });
    if (!done) return failed(done.error().message);
    if (!answer.made) return failed(answer.made.error().message);
    std::fputs(answer.made->out.c_str(), stdout);
    std::fputs(answer.made->errors.c_str(), stderr);
    return answer.made->exit_code();
}

}  // namespace cotrain::app
