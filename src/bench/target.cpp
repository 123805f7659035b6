#include "bench/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "doc/json.hpp"
#include "kube/client.hpp"
#include "kube/config.hpp"
#include "playground/box.hpp"
#include "playground/private_file.hpp"

namespace cotrain::bench {

namespace {

constexpr std::string_view prefix = "bench-";

// A trainer whose Pods want an image and a command, and nothing else.
constexpr std::string_view containers =
    R"("spec":{"template":{"spec":{"containers":[{"name":"node","image":"registry.example.com/team/train:v1"}]}}})";
constexpr std::string_view trainer =
    R"("metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}})";

constexpr std::string_view group = "trainer.kubeflow.org";
constexpr std::string_view home = "default";

base::seconds_time wall() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

bool is_over(const sim::record_ptr& job) {
    return job && (job->json.contains(R"("type":"Complete")") || job->json.contains(R"("type":"Failed")"));
}

class box_target final : public bench_target {
   public:
    box_target(asio::io_context& loop, const bench_options& options, std::string dir, bench_events to)
        : load_(options.load),
          ends_(options.script.end != sim::player_script::ending::never),
          kubeconfig_(std::move(dir) + "/kubeconfig"),
          to_(std::move(to)),
          box_(loop, options_of(options), base::null_logger()) {}

    awaitable<base::result<>> start() override {
        if (auto done = box_.start(); !done) co_return done;
        const sim::kinds& types = box_.objects().types();
        jobs_ = types.find(group, "v1alpha1", "trainjobs");
        job_sets_ = types.find("jobset.x-k8s.io", "v1alpha2", "jobsets");
        seen_ = box_.objects().objects().version();
        if (auto done = playground::write_private_file(kubeconfig_, box_.kubeconfig()); !done) co_return done;
        co_return make(types.find(group, "v1alpha1", "trainingruntimes"), bench_runtime(load_));
    }

    awaitable<base::result<>> make_job(std::int64_t number) override {
        auto done = make(jobs_, bench_job(load_, number));
        if (static_cast<std::size_t>(number) >= shares_.size()) shares_.resize(static_cast<std::size_t>(number) + 1);
        shares_[static_cast<std::size_t>(number)].made = clock::now();
        co_return done;
    }

    awaitable<base::result<>> remove_job(std::int64_t number) override {
        const auto done =
            box_.objects().remove({jobs_, std::string(home), bench_job_name(number)}, sim::removal{}, wall());
        if (!done) co_return base::fail(base::errc::internal, done.error().message);
        box_.changed();
        co_return base::result<>{};
    }

    std::string kubeconfig() const override { return kubeconfig_; }
    bool jobs_end() const override { return ends_; }

    std::map<std::string, bench_traffic> take_traffic() override {
        const std::uint64_t brought = box_.server().counters().watch_bytes;
        traffic_["watch, events"].bytes_received += brought - watch_bytes_;
        watch_bytes_ = brought;
        return std::exchange(traffic_, {});
    }

    awaitable<void> stop() override { co_await box_.stop(); }

   private:
    playground::box_options options_of(const bench_options& options) {
        return {.script = options.script,
                .on_request = [this](const sim::request_note& note) { count(note); },
                .on_change = [this] { follow(); }};
    }

    base::result<> make(const sim::kind* of, const std::string& text) {
        doc::arena memory;
        const auto document = doc::parse_json(memory, text);
        if (!document) return base::fail(document.error());
        const auto done =
            box_.objects().create({of, std::string(home)}, *document, {.manager = "cotrain-bench"}, wall());
        if (!done) return base::fail(base::errc::internal, done.error().message);
        box_.changed();
        return {};
    }

    void count(const sim::request_note& note) {
        bench_traffic& row = traffic_[note.verb.empty() ? "other" : fmt::format("{} {}", note.verb, note.resource)];
        ++row.requests;
        row.bytes_sent += note.bytes_in;
        row.bytes_received += note.bytes_out;
        share(note);
    }

    // Server and load are in this process: the controller's part is what lies between their answers and its requests.
    void share(const sim::request_note& note) {
        const std::int64_t number = note.verb == "patch" || note.verb == "create" ? bench_job_of_path(note.path) : -1;
        if (number < 0 || static_cast<std::size_t>(number) >= shares_.size()) return;
        shares& of = shares_[static_cast<std::size_t>(number)];
        if (of.over) return;
        of.served += note.took;
        of.over = note.resource == "jobsets";
        if (of.over) to_.own_time(clock::now() - of.made - of.served);
    }

    void follow() {
        while (const sim::change* const next = box_.objects().objects().next(seen_)) {
            seen_ = next->version;
            if (next->after == nullptr) continue;
            if (!applied_ && next->of != jobs_ && next->after->name.starts_with(bench_job_name(0))) {
                applied_ = true;
                to_.first_apply();
            }
            if (next->of == job_sets_ && next->before == nullptr) to_.job_set(bench_job_number(next->after->name));
            if (next->of == jobs_ && is_over(next->after) && !is_over(next->before))
                to_.ended(bench_job_number(next->after->name));
        }
    }

    using clock = std::chrono::steady_clock;
    struct shares {
        clock::time_point made{};
        std::chrono::nanoseconds served{};  // requests for it, inside of the server
        bool over = false;
    };

    bench_load load_;
    bool ends_;
    std::string kubeconfig_;
    bench_events to_;
    std::map<std::string, bench_traffic> traffic_;
    std::uint64_t watch_bytes_ = 0;
    std::uint64_t seen_ = 0;
    bool applied_ = false;
    std::vector<shares> shares_;
    const sim::kind* jobs_ = nullptr;
    const sim::kind* job_sets_ = nullptr;
    playground::box box_;
};

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

bool is_over(doc::ref job) {
    const doc::ref conditions = job.get({"status", "conditions"});
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
        const auto where = kube::find_config(kube::environment::of_process(), kubeconfig_);
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
        doc::arena memory;
        const auto read = doc::parse_json(memory, page->body);
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
        doc::arena memory;
        const auto event = doc::parse_json(memory, line);
        if (!event) return;
        const doc::ref object = event->get("object");
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

std::string bench_runtime(const bench_load& load) {
    const bool mpi = load.policy == bench_policy::mpi;
    const std::string policy =
        mpi ? R"("mpi":{"numProcPerNode":1,"mpiImplementation":"OpenMPI","sshAuthMountPath":"/home/mpiuser/.ssh"})"
        : load.policy == bench_policy::torch ? R"("torch":{})"
                                             : "";
    const std::string jobs =
        mpi ? fmt::format(R"({{"name":"launcher","template":{{{0},{1}}}}},{{"name":"node","template":{{{1}}}}})",
                          trainer, containers)
            : fmt::format(R"({{"name":"node","template":{{{},{}}}}})", trainer, containers);
    return fmt::format(
        R"({{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{{"name":"{}",)"
        R"("labels":{{"trainer.kubeflow.org/framework":"{}"}}}},"spec":{{"mlPolicy":{{"numNodes":1{}{}}},)"
        R"("template":{{"spec":{{{}"replicatedJobs":[{}]}}}}}}}})",
        bench_runtime_name, to_string(load.policy), policy.empty() ? "" : ",", policy,
        mpi ? R"("network":{"publishNotReadyAddresses":true},"successPolicy":{"operator":"All","targetReplicatedJobs":["launcher"]},)"
            : "",
        jobs);
}

std::string bench_job_name(std::int64_t number) { return fmt::format("{}{}", prefix, number); }

std::string bench_job(const bench_load& load, std::int64_t number) {
    return fmt::format(
        R"({{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{{"name":"{}"}},)"
        R"("spec":{{"runtimeRef":{{"apiGroup":"trainer.kubeflow.org","kind":"TrainingRuntime","name":"{}"}},)"
        R"("trainer":{{"numNodes":{},"command":["torchrun","train.py"]}}}}}})",
        bench_job_name(number), bench_runtime_name, load.nodes);
}

std::int64_t bench_job_number(std::string_view name) {
    std::int64_t out = -1;
    if (!name.starts_with(prefix)) return -1;
    name.remove_prefix(prefix.size());
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out);
    return error == std::errc{} && end == name.data() + name.size() ? out : -1;
}

std::int64_t bench_job_of_path(std::string_view path) {
    path = path.substr(0, path.find('?'));
    const std::size_t at = path.rfind(fmt::format("/{}", prefix));
    if (at == std::string_view::npos) return -1;
    path.remove_prefix(at + 1);
    return bench_job_number(path.substr(0, path.find_first_not_of("0123456789", prefix.size())));
}

std::unique_ptr<bench_target> make_box_target(asio::io_context& loop, const bench_options& options, std::string dir,
                                              bench_events to) {
    return std::make_unique<box_target>(loop, options, std::move(dir), std::move(to));
}

std::unique_ptr<bench_target> make_live_target(asio::io_context& loop, const bench_options& options, bench_events to) {
    return std::make_unique<live_target>(loop, options, std::move(to));
}

}  // namespace cotrain::bench
