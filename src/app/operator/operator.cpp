#include "app/operator/operator.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>

#include "app/build_info.hpp"
#include "app/command.hpp"
#include "app/doctor/judge.hpp"
#include "app/operator/lookups.hpp"
#include "app/operator/process.hpp"
#include "base/log_output.hpp"
#include "kube/config.hpp"
#include "net/tls/context.hpp"
#include "plugins/builtin.hpp"
#include "plugins/keys.hpp"

namespace cotrain::app {

namespace {

using namespace std::chrono_literals;
using watch::kind;

constexpr auto write_time = 30s;                             // of one write where no Lease sets the limit
constexpr std::chrono::milliseconds first_reminder = 1s;     // until a line says that a definition is not there
constexpr std::chrono::milliseconds missing_reminder = 30s;  // between two such lines
constexpr auto tidy_pause = 10s;                             // between looks whether memory can be given back
constexpr auto look_pause = 20ms;                            // between looks at the queue, at a term's beginning
constexpr std::string_view default_namespace = "kubeflow-system";
// A cluster's Service sends us reviews for a while after we were asked to stop.
constexpr auto farewell = 3s;
// Objects of so much memory have left a lot behind when their lists are in.
constexpr std::size_t many_bytes = 256U << 10U;

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::uint64_t number(const std::string& text) {
    std::uint64_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

std::string_view how_to_install(kind k) {
    if (k == kind::job_set) return "https://jobset.sigs.k8s.io/docs/installation/";
    return "kubectl apply --server-side -f deploy/crds";
}

// TrainJobs that wait for their turn; with more no normal events are written.
constexpr std::size_t calm_depth_max = 100;

reconcile::controller_limits limits(std::int32_t in_flight, std::uint64_t first_run = 1) {
    reconcile::controller_limits out{.first_run = first_run};
    if (in_flight > 0) out.in_flight_max = static_cast<unsigned>(in_flight);
    return out;
}

kube::rate_limit request_limit(const rate_config& config) {
    if (config.qps < 0) return {};
    return {config.effective_qps(), config.effective_burst()};
}

int failed(operator_exit code, const base::error& why) {
    std::fprintf(stderr, "cotrain operator: %s\n", why.message.c_str());
    return static_cast<int>(code);
}

awaitable<void> play(operator_process* process, operator_exit* code) { *code = co_await process->run(); }

}  // namespace

kube::client_options client_options_of(const configuration& config) {
    kube::client_options out;
    out.user_agent = kube::user_agent(version());
    out.limit = request_limit(config.client);
    return out;
}

// With progress reports, pods learn where to send them.
runtime::plugin_options plugin_options_of(const configuration& config, const kube::client& api) {
    const feature_gates gates = config.effective_gates();
    runtime::plugin_options out{
        .disabled = config.disabled_plugins, .elastic = gates.elastic, .gates = open_gates(gates)};
    if (gates.train_job_status) {
        out.status_url = "https://" + service_host(config, api) + ":" + std::to_string(config.status_server.port);
    }
    return out;
}

watch::cluster::stores operator_process::stores() {
    watch::cluster::stores out{};
    for (const kind k : watch::all_kinds()) out[static_cast<std::size_t>(k)] = &informers_->store(k);
    return out;
}

reconcile::trainjob_options operator_process::job_options() {
    return {.wall = [] { return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()); },
            .steady = [] { return std::chrono::steady_clock::now(); },
            .make_ssh_key = [] { return plugins::make_ssh_key(plugins::system_bytes()); },
            .make_curve_key = [] { return plugins::make_curve_key(plugins::system_bytes()); },
            .ca_certificate = [this] { return servers_ ? servers_->ca_certificate() : std::string(); },
            .record = [this](const reconcile::event_note& note) { events_->post(note); },
            .normal_events = config_.events.normal,
            .lifecycle_conditions = config_.effective_gates().lifecycle_conditions,
            .elastic = config_.effective_gates().elastic,
            .ttl = config_.effective_gates().train_job_ttl};
}

operator_process::operator_process(asio::io_context& loop, kube::client& api, configuration config,
                                   operator_flags flags, runtime::plugins plugins, base::logger& log)
    : loop_(loop),
      api_(api),
      config_(std::move(config)),
      flags_(std::move(flags)),
      plugins_(std::move(plugins)),
      log_(log),
      random_(base::random_source::from_system()),
      watching_(loop.get_executor()),
      working_(loop.get_executor()),
      draining_(loop.get_executor()),
      reminder_(loop),
      informers_(std::make_unique<watch::informers>(
          watch::informer_tools{watching_, api, texts_, relay_, random_, log},
          watch::informers_options{.watched = reconcile::kinds_to_watch(*plugins_),
                                   .namespaces = config_.namespaces,
                                   .kept = watch::kept_bounds::of_process(memory_limit()),
                                   .child_suffixes = reconcile::file_suffixes(*plugins_)})),
      cluster_(texts_, stores(), log, reconcile::file_suffixes(*plugins_)),
      gate_(api, [this] { return may_write(); }),
      events_(std::make_unique<reconcile::event_sink>(
          watching_, api, log, std::string(api::names::reporting_controller), host_name(),
          [this] { return lease_time(); }, [this] { return many_jobs_wait(); })),
      jobs_(cluster_, gate_, plugins_, job_options(), log),
      runtimes_(cluster_, gate_, log),
      handlers_(
          cluster_, jobs_, [this](reconcile::key k, reconcile::work how) { job_controller_->add(k, how); },
          [this](reconcile::key k, reconcile::work how) { controller_of(k).add(k, how); }),
      lookup_(*informers_, cluster_, [this](watch::text_id job) { return jobs_.known_snapshot(job); }),
      signals_(loop),
      patience_(loop) {
    const auto told = [this](std::string_view controller) {
        return [this, controller](reconcile::key k, reconcile::attempt now, std::string_view what) {
            tell_panic(controller, k, now.number, what);
        };
    };
    job_controller_ = std::make_unique<reconcile::controller>(
        working_, log, [this](reconcile::key k, reconcile::attempt now) { return jobs_.reconcile(k, now); },
        limits(config_.concurrency.train_job, random_.next()), &holder_, told("trainjob"));
    const auto tend_runtime = [this](reconcile::key k, reconcile::attempt now) { return runtimes_.reconcile(k, now); };
    runtime_controller_ = std::make_unique<reconcile::controller>(
        working_, log, tend_runtime, limits(config_.concurrency.training_runtime, random_.next()), &holder_,
        told("runtime"));
    cluster_runtime_controller_ = std::make_unique<reconcile::controller>(
        working_, log, tend_runtime, limits(config_.concurrency.cluster_training_runtime, random_.next()), &holder_,
        told("runtime"));
    relay_.to = &handlers_;
    relay_.reviews = &lookup_;
    cluster_.follow(
        [this](kind k, std::string_view ns) {
            const watch::informer* const of = informers_->of(k, ns);
            return of == nullptr ? 0 : number(of->resource_version());
        },
        [this](kind k, std::string_view ns) { return doubt_about(k, ns); },
        [this](kind k, std::string_view ns) {
            const watch::informer* const of = informers_->of(k, ns);
            return of == nullptr || of->following();
        });
    cluster_.on_version([this](kind k) {
        const watch::informer* const of = informers_->of(k);
        if (of == nullptr) return watch::info_of(k).of.version;
        return of->missing() ? std::string_view{} : of->version();
    });
    cluster_.on_want([this](kind k) { informers_->want(k); });
    cluster_.on_answer([this](const watch::object_change& what) { handlers_.answered(what); });
}

operator_process::~operator_process() = default;

void operator_process::tell_panic(std::string_view controller, reconcile::key k, std::uint64_t run,
                                  std::string_view what) {
    const auto [ns, name] = watch::split_key(texts_.view(k.name));
    log_.error("unexpected exception", {{"in", "reconcile"},
                                        {"controller", controller},
                                        {"namespace", ns},
                                        {"name", name},
                                        {"reconcileID", reconcile::reconcile_id(run)},
                                        {"error", what}});
}

// A kind that the server does not know has no objects; one that is not watched is asked for where it matters.
std::string operator_process::doubt_about(kind k, std::string_view ns) const {
    const watch::informer* const of = informers_->of(k, ns);
    if (of == nullptr || of->missing() || of->trusted()) return {};
    return of->last_error().empty() ? "its first list has not come in yet" : of->last_error();
}

bool operator_process::leading() const {
    return working_now_ && !stopping_ && (leader_ == nullptr || leader_->leading());
}

reconcile::controller& operator_process::controller_of(reconcile::key runtime) {
    const bool cluster_wide = static_cast<kind>(runtime.kind) == kind::cluster_training_runtime;
    return cluster_wide ? *cluster_runtime_controller_ : *runtime_controller_;
}

std::optional<reconcile::write_permit> operator_process::may_write() const {
    return working_now_ ? lease_time() : std::nullopt;
}

std::optional<reconcile::write_permit> operator_process::lease_time() const {
    if (leader_ == nullptr) return reconcile::write_permit(write_time);
    return leader_->may_write();
}

bool operator_process::open_ports() {
    const auto sync_trouble = [this] {
        return informers_->is_ready() ? std::string() : std::string("not in sync with the cluster yet");
    };
    const auto stop_trouble = [this] { return stopping_ ? std::string("stopping") : std::string(); };
    servers_ = std::make_unique<servers>(
        servers_tools{.executor = loop_.get_executor(),
                      .api = api_,
                      .config = config_,
                      .flags = flags_,
                      .log = log_,
                      .cluster = lookup_,
                      .plugins = plugins_,
                      .ready = {{"informers", sync_trouble}, {"running", stop_trouble}},
                      .metrics = {[this](serve::exposition& to) { write_operator_metrics(to, *this, api_, config_); }},
                      .state = [this] { return write_operator_state(*this, api_); },
                      .jobs = [this](const serve::reported_job& job) { return find_reported_job(cluster_, job); }});
    const auto open = servers_->start();
    if (open) return true;
    log_.error("cannot listen on a port", {{"error", open.error().message}});
    exit_ = operator_exit::failed;
    stop();
    return false;
}

void operator_process::begin() {
    if (!open_ports()) return;
    if (config_.election.enabled) {
        std::string ns = config_.election.ns.empty() ? api_.default_namespace() : config_.election.ns;
        if (ns.empty()) ns = default_namespace;
        leader_ = std::make_unique<reconcile::leader>(
            reconcile::leader_tools{watching_, api_, random_, log_},
            reconcile::leader_options{
                .ns = ns,
                .name = config_.election.lease_name,
                .identity = reconcile::make_identity(host_name(), random_),
                .timing = {config_.election.lease, config_.election.renew, config_.election.retry}},
            [this](bool leads) {
                if (leads || stopping_) return;
                log_.error("leader election lost, exiting");
                exit_ = operator_exit::lost_lease;
                stop();
            });
    }
    give_back_memory();  // before the lists come: the start has run much code that nothing runs again
    informers_->start();
    events_->start();
    if (flags_.signals) watching_.supervise("signals", [this] { return handle_signals(); }, log_);
    watching_.supervise("missing definitions", [this] { return tell_missing(); }, log_);
    watching_.supervise("suppressed log lines", [this] { return tell_suppressed(); }, log_);
    watching_.supervise("leading", [this] { return work_when_leading(); }, log_);
}

// Nobody should rely on a gate that this version only knows by name.
awaitable<operator_exit> operator_process::run() {
    for (const std::string& w : config_.warnings) log_.warn("configuration warning", {{"warning", w}});
    begin();
    log_.info("starting operator", {{"version", version()}, {"election", leader_ != nullptr}});
    if (!stopping_) co_await ended_.wait();
    co_await wind_down();
    base::write_suppressed_lines(true);
    log_.info("operator stopped");
    co_return exit_;
}

void operator_process::stop() {
    if (std::exchange(stopping_, true)) return;
    asked_to_stop_ = std::chrono::steady_clock::now();
    ended_.notify_later();
}

awaitable<void> operator_process::handle_signals() {
    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    signals_.add(SIGHUP);
    for (;;) {
        const auto [error, number] = co_await signals_.async_wait(use_tuple);
        if (error) co_return;
        if (number == SIGHUP) {
            reload();
            continue;
        }
        log_.info("stop signal received", {{"signal", std::int64_t{number}}});
        stop();
    }
}

// The operator waits for definitions as long as it takes, also for those that are taken away later; it says which and
// where they come from.
awaitable<void> operator_process::tell_missing() {
    for (auto pause = first_reminder;;) {
        reminder_.expires_after(pause);
        const auto [error] = co_await reminder_.async_wait(use_tuple);
        if ((co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none) co_return;
        pause = error ? first_reminder : missing_reminder;
        if (error) continue;  // one is missing now: others may be, too
        if (!informers_->is_ready()) co_await tell_old_server();
        for (const kind k : informers_->missing()) {
            const auto& of = watch::info_of(k).of;
            log_.error("waiting for a CRD that is not installed",
                       {{"resource", std::string(of.plural).append(".").append(of.group)},
                        {"version", of.version},
                        {"install", how_to_install(k)}});
        }
    }
}

// Repeated lines are counted; the counts come although no further line of their causes does.
awaitable<void> operator_process::tell_suppressed() {
    for (asio::steady_timer timer(loop_);;) {
        timer.expires_after(base::log_limiter::period);
        if (const auto [error] = co_await timer.async_wait(use_tuple); error) co_return;
        base::write_suppressed_lines();
    }
}

// Once, when nothing has to wait for it.
awaitable<void> operator_process::tell_old_server() {
    if (std::exchange(version_asked_, true)) co_return;
    const auto version = co_await api_.version();
    if (!version) co_return;
    if (const finding said = judge_version(*version, {}, {}); said.how == verdict::problem)
        log_.warn("API server version is not supported", {{"version", version->git_version}, {"do", said.remedy}});
}

// After an exception it begins anew: what is running by then goes on.
awaitable<void> operator_process::work_when_leading() {
    if (!co_await informers_->ready()) co_return;
    log_.info("caches synced", {{"trainjobs", static_cast<std::int64_t>(informers_->store(kind::train_job).size())}});
    // A standby may wait for long from here on. Who leads at once, and has few objects, works first.
    if (leader_ != nullptr || informers_->memory_bytes() > many_bytes) give_back_memory();
    if (stopping_) co_return;
    // Not before: a replica that could not work yet would keep the Lease from one that can.
    if (leader_ != nullptr && !leader_->started()) leader_->start();
    if (leader_ != nullptr && !co_await leader_->acquired()) co_return;
    if (stopping_) co_return;
    working_now_ = true;
    handlers_.enqueue_all();
    for (auto* const each : {&job_controller_, &runtime_controller_, &cluster_runtime_controller_})
        if (!(*each)->started()) (*each)->start();
    log_.info("leading", {{"election", leader_ != nullptr}});
    const auto begun = std::chrono::steady_clock::now();
    asio::steady_timer timer(loop_);
    while (job_controller_->core().depth() != 0 || job_controller_->core().in_flight() != 0) {
        timer.expires_after(look_pause);
        if (const auto [error] = co_await timer.async_wait(use_tuple); error) co_return;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    log_.info("all TrainJobs reconciled", {{"duration", took.count()}});
    co_await tell_old_server();
    co_await tidy_up();
}

// After the start, and after each burst of work that is over.
awaitable<void> operator_process::tidy_up() {
    asio::steady_timer timer(loop_);
    give_back_memory();
    const reconcile::controller_core& jobs = job_controller_->core();
    for (std::uint64_t tidied = jobs.metrics().done;;) {
        timer.expires_after(tidy_pause);
        if (const auto [error] = co_await timer.async_wait(use_tuple); error) co_return;
        if (jobs.metrics().done == tidied || jobs.depth() != 0 || jobs.in_flight() != 0) continue;
        tidied = jobs.metrics().done;
        give_back_memory();
    }
}

// What is under way may finish, within reason; the Lease goes last, when nothing of ours writes any more.
awaitable<void> operator_process::wind_down() {
    // Informers go on until the end: nothing that they bring may start a worker.
    for (auto* const each : {&job_controller_, &runtime_controller_, &cluster_runtime_controller_}) (*each)->close();
    const bool all_written = co_await end_work();
    co_await leave_lease(all_written);
    if (exit_ == operator_exit::stopped && !kube::environment::of_process().service_host.empty()) {
        patience_.expires_at(asked_to_stop_ + farewell);
        static_cast<void>(co_await patience_.async_wait(use_tuple));
    }
    co_await servers_->stop(asked_to_stop_ + stop_patience);
    watching_.cancel();
    co_await watching_.join();
    co_await api_.stop();
}

awaitable<bool> operator_process::end_work() {
    if (working_now_ && exit_ != operator_exit::lost_lease) {
        patience_.expires_at(asked_to_stop_ + stop_patience / 2);
        draining_.spawn("drain", drain());
        if (!drained_) static_cast<void>(co_await patience_.async_wait(use_tuple));
    }
    const bool all_written = gate_.under_way() == 0;
    working_.cancel();
    draining_.cancel();
    co_await working_.join();
    co_await draining_.join();
    working_now_ = false;
    co_return all_written;
}

// The API server may still commit a write that we gave up: nobody else may lead before that is over, so the Lease is
// left to run out then.
awaitable<void> operator_process::leave_lease(bool give_back) {
    if (leader_ == nullptr) co_return;
    if (give_back) {
        static_cast<void>(co_await leader_->stop(stop_patience / 4));
    } else {
        if (leader_->leading()) log_.warn("writes did not finish: the Lease is not released but left to expire");
        leader_->leave();
    }
}

awaitable<void> operator_process::drain() {
    co_await job_controller_->drain();
    co_await runtime_controller_->drain();
    co_await cluster_runtime_controller_->drain();
    drained_ = true;
    patience_.cancel();
}

bool operator_process::many_jobs_wait() const {
    return job_controller_ != nullptr && job_controller_->core().depth() > calm_depth_max;
}

void operator_process::reload() {
    auto read = load_configuration(flags_);
    if (!read) {
        log_.error("cannot reload the configuration", {{"error", read.error().message}});
        return;
    }
    config_.events = read->events;
    config_.client = read->client;
    config_.concurrency = read->concurrency;
    jobs_.record_normal_events(config_.events.normal);
    api_.set_limit(request_limit(config_.client));
    job_controller_->set_in_flight_max(limits(config_.concurrency.train_job).in_flight_max);
    runtime_controller_->set_in_flight_max(limits(config_.concurrency.training_runtime).in_flight_max);
    cluster_runtime_controller_->set_in_flight_max(limits(config_.concurrency.cluster_training_runtime).in_flight_max);
    read->warnings = config_.warnings;
    log_.info("configuration reloaded",
              {{"events.normal", config_.events.normal},
               {"clientConnection.qps", config_.client.qps},
               {"concurrency", static_cast<std::int64_t>(job_controller_->core().in_flight_max())},
               {"needs a restart", !(to_yaml(*read) == to_yaml(config_))}});
}

int run_operator(arguments words) {
    if (asks_for_help(words)) {
        std::fputs(("usage: cotrain operator [flags]\n\n" + flag_help()).c_str(), stdout);
        return 0;
    }
    keep_memory_private();
    auto flags = read_flags(words);
    if (!flags) return failed(operator_exit::wrong, flags.error());
    raise_descriptor_limit();
    auto config = load_configuration(*flags);
    if (!config) return failed(operator_exit::wrong, config.error());
    base::logger& log = base::stderr_logger();
    log.set_threshold(flags->log_level);
    const auto cluster = kube::find_config(kube::environment::of_process(), flags->kubeconfig);
    if (!cluster) return failed(operator_exit::wrong, cluster.error());

    static_cast<void>(net::tls::use_secure_memory());  // before the first key is read
    asio::io_context loop(1);
    auto api = kube::client::make(loop.get_executor(), *cluster, client_options_of(*config), log);
    if (!api) return failed(operator_exit::failed, api.error());
    auto plugins = plugins::builtin::make(plugin_options_of(*config, **api));
    if (!plugins) return failed(operator_exit::wrong, plugins.error());
    operator_exit code = operator_exit::failed;
    operator_process process(loop, **api, std::move(*config), std::move(*flags), std::move(*plugins), log);
    asio::co_spawn(loop, play(&process, &code), asio::detached);
    loop.run();
    return static_cast<int>(code);
}

}  // namespace cotrain::app
