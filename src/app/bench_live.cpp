// A real API server under a bench: a namespace of its own, jobs over our client, JobSets seen by watches.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <set>

#include "api/json.hpp"
#include "app/bench_target.hpp"
#include "base/random.hpp"
#include "kube/client.hpp"
#include "kube/find_config.hpp"

namespace cotrain::app {

namespace {

constexpr kube::resource namespaces{"", "v1", "namespaces", "Namespace", false};
constexpr kube::resource runtimes{"trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime"};
constexpr kube::resource train_jobs{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"};
constexpr kube::resource job_sets{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"};
constexpr kube::resource config_maps{"", "v1", "configmaps", "ConfigMap"};
constexpr kube::resource secrets{"", "v1", "secrets", "Secret"};

constexpr std::string_view completed =
    R"({"status":{"conditions":[{"type":"Completed","status":"True","reason":"AllJobsCompleted",)"
    R"("message":"jobset completed successfully","lastTransitionTime":"2026-01-01T00:00:00Z"}],)"
    R"("replicatedJobsStatus":[{"name":"node","ready":0,"succeeded":1,"failed":0,"active":0,"suspended":0}]}})";

bool is_over(api::ref job) {
    const api::ref conditions = job.get({"status", "conditions"});
    return static_cast<bool>(conditions.find_by("type", "Complete")) ||
           static_cast<bool>(conditions.find_by("type", "Failed"));
}

class live_target final : public bench_target {
   public:
    live_target(asio::io_context& loop, const bench_options& options, bench_events to)
        : loop_(loop),
          load_(options.load),
          complete_(options.complete),
          kubeconfig_(std::filesystem::absolute(options.kubeconfig).string()),
          to_(std::move(to)),
          ns_(fmt::format("cotrain-bench-{:08x}", base::random_source::from_system().next() & 0xffffffffU)),
          tasks_(loop.get_executor()) {}

    awaitable<base::result<>> start() override {
        const auto where = kube::find_config(kube::surroundings::of_process(), kubeconfig_);
        if (!where) co_return base::fail(where.error());
        auto made =
            kube::client::make(loop_.get_executor(), *where, {.user_agent = "cotrain-bench"}, base::null_logger());
        if (!made) co_return base::fail(std::move(made.error()));
        api_ = std::move(*made);
        auto done = co_await create(namespaces, "", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", ns_));
        if (!done) co_return done;
        made_ = true;
        if (done = co_await create(runtimes, ns_, bench_runtime(load_)); !done) co_return done;
        for (const kube::resource* each : {&job_sets, &train_jobs}) {
            auto version = co_await version_of(each);
            if (!version) co_return base::fail(std::move(version.error()));
            tasks_.spawn("watch", watch(each, std::move(*version)));
        }
        co_return base::result<>{};
    }

    awaitable<base::result<>> make_job(std::int64_t number) override {
        co_return co_await create(train_jobs, ns_, bench_job(load_, number));
    }

    awaitable<base::result<>> remove_job(std::int64_t number) override {
        const std::string name = bench_job_name(number);
        auto done = co_await api_->remove(train_jobs, {ns_, name});
        if (!done) co_return base::fail(std::move(done.error()));
        co_return base::result<>{};
    }

    std::string kubeconfig() const override { return kubeconfig_; }
    bool jobs_end() const override { return complete_; }
    std::map<std::string, bench_traffic> take_traffic() override { return {}; }

    awaitable<void> stop() override {
        tasks_.cancel();
        co_await tasks_.join();
        if (!api_) co_return;
        // Without a garbage collector nothing goes by itself.
        for (const kube::resource* each : {&train_jobs, &job_sets, &config_maps, &secrets, &runtimes})
            if (made_) co_await remove_all(each);
        if (made_) static_cast<void>(co_await api_->remove(namespaces, {"", ns_}));
        co_await api_->stop();
    }

   private:
    awaitable<base::result<>> create(kube::resource of, std::string ns, std::string body) {
        auto done = co_await api_->create(of, ns, std::move(body), {.field_manager = "cotrain-bench"});
        if (!done) co_return base::fail(std::move(done.error()));
        co_return base::result<>{};
    }

    awaitable<void> remove_all(const kube::resource* of) {
        auto path = kube::path_of(*of, {ns_, ""});
        if (!path) co_return;
        kube::call what;
        what.attempt = fmt::format("delete all {} in {}", of->plural, ns_);
        what.http.method = "DELETE";
        what.http.path = std::move(*path);
        what.http.idempotent = true;
        static_cast<void>(co_await api_->perform(std::move(what)));
    }

    awaitable<base::result<std::string>> version_of(const kube::resource* of) {
        auto page = co_await api_->list(*of, ns_, {.limit = 1});
        if (!page) co_return base::fail(std::move(page.error()));
        api::arena memory;
        const auto read = api::parse_json(memory, page->body);
        if (!read) co_return base::fail(read.error());
        co_return std::string(read->get({"metadata", "resourceVersion"}).as_string());
    }

    // Events older than a watch's start are none of ours: the namespace is new.
    awaitable<void> watch(const kube::resource* of, std::string version) {
        for (;;) {
            auto stream = co_await api_->watch(*of, ns_, {.resource_version = version});
            while (stream) {
                const auto line = co_await stream->next();
                if (!line || !*line) break;
                take(of, **line, version);
            }
            if (stream) continue;
            to_.failed(stream.error().message);
            co_return;
        }
    }

    void take(const kube::resource* of, std::string_view line, std::string& version) {
        api::arena memory;
        const auto event = api::parse_json(memory, line);
        if (!event) return;
        const api::ref object = event->get("object");
        const std::string_view type = event->get("type").as_string();
        if (type == "ERROR") return to_.failed("watch: " + std::string(object.get("message").as_string()));
        version = object.get({"metadata", "resourceVersion"}).as_string();
        const std::int64_t number = bench_job_number(object.get({"metadata", "name"}).as_string());
        if (number < 0) return;
        if (of == &job_sets && type == "ADDED") {
            to_.job_set(number);
            if (complete_) tasks_.spawn("completion", complete(number));
        }
        if (of == &train_jobs && is_over(object)) to_.ended(number);
    }

    awaitable<void> complete(std::int64_t number) {
        const std::string name = bench_job_name(number);
        static_cast<void>(co_await api_->merge_patch(job_sets, {ns_, name}, std::string(completed),
                                                     {.field_manager = "cotrain-bench", .sub_resource = "status"}));
    }

    asio::io_context& loop_;
    bench_load load_;
    bool complete_;
    std::string kubeconfig_;
    bench_events to_;
    std::string ns_;
    std::unique_ptr<kube::client> api_;
    bool made_ = false;
    base::task_group tasks_;
};

}  // namespace

std::unique_ptr<bench_target> make_live_target(asio::io_context& loop, const bench_options& options, bench_events to) {
    return std::make_unique<live_target>(loop, options, std::move(to));
}

}  // namespace cotrain::app
