// The operator as one object: informers, reconcilers and election around one client, on one event loop.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/config/config.hpp"
#include "app/config/flags.hpp"
#include "app/operator/lookups.hpp"
#include "app/operator/servers.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "kube/client.hpp"
#include "reconcile/controller.hpp"
#include "reconcile/event_handlers.hpp"
#include "reconcile/event_sink.hpp"
#include "reconcile/leader.hpp"
#include "reconcile/runtime_reconciler.hpp"
#include "reconcile/trainjob/reconciler.hpp"
#include "reconcile/write_gate.hpp"
#include "runtime/plugin_set.hpp"
#include "serve/exposition.hpp"
#include "watch/cluster.hpp"
#include "watch/informer.hpp"

namespace cotrain::app {

// What the process says when it ends; documented in docs/reconcile.md.
enum class operator_exit : std::uint8_t {
    stopped = 0,     // by SIGTERM or SIGINT
    failed = 1,      // it cannot run: no cluster, no credentials
    wrong = 2,       // flags or configuration
    lost_lease = 3,  // another replica may lead: start again as a follower
};

// All that an end may wait for, counted from when it was asked for: writes under way, the Lease, requests to us. What
// is left then is cut, and the process ends within five seconds.
inline constexpr auto stop_patience = std::chrono::milliseconds(4'000);

// How the operator's client is set up by its configuration.
[[nodiscard]] kube::client_options client_options_of(const configuration& config);
// What plugins are told of it.
[[nodiscard]] runtime::plugin_options plugin_options_of(const configuration& config, const kube::client& api);

class operator_process {
   public:
    // The client must have been made on `loop`; it is stopped by the end of run().
    operator_process(asio::io_context& loop, kube::client& api, configuration config, operator_flags flags,
                     runtime::plugins plugins, base::logger& log);
    ~operator_process();

    // Until stop(), a signal, or the loss of the Lease. What it returns is the exit code.
    [[nodiscard]] awaitable<operator_exit> run();
    void stop();
    // SIGHUP: takes over from the file what can change while running, and says what cannot.
    void reload();
    [[nodiscard]] bool many_jobs_wait() const;

    [[nodiscard]] bool leading() const;
    // Who holds the Lease, as far as we know; empty without election.
    [[nodiscard]] std::string_view holder() const {
        return leader_ == nullptr ? std::string_view{} : std::string_view(leader_->holder());
    }
    // Null without election.
    [[nodiscard]] const reconcile::leader* election() const { return leader_.get(); }
    [[nodiscard]] bool synced() const { return informers_->is_ready(); }
    // Null before run() has opened the ports.
    [[nodiscard]] const servers* served() const { return servers_.get(); }
    [[nodiscard]] const watch::informers& observed() const { return *informers_; }
    [[nodiscard]] const watch::text_table& texts() const { return texts_; }
    [[nodiscard]] const reconcile::trainjob_reconciler& train_jobs() const { return jobs_; }
    [[nodiscard]] const reconcile::write_gate& writes() const { return gate_; }
    [[nodiscard]] const reconcile::controller_core& train_job_queue() const { return job_controller_->core(); }
    [[nodiscard]] const reconcile::controller_core& runtime_queue() const { return runtime_controller_->core(); }
    [[nodiscard]] const reconcile::controller_core& cluster_runtime_queue() const {
        return cluster_runtime_controller_->core();
    }

   private:
    // What a queue knows stays a text.
    struct text_holder final : reconcile::key_holder {
        explicit text_holder(watch::text_table& t) : texts(t) {}
        void retain(reconcile::key k) override { texts.retain(k.name); }
        void release(reconcile::key k) override { texts.release(k.name); }
        [[nodiscard]] std::size_t group(reconcile::key k) const override {
            return std::hash<std::string_view>{}(watch::split_key(texts.view(k.name)).ns);
        }
        watch::text_table& texts;
    };
    struct relay final : watch::listener {
        watch::listener* to = nullptr;
        admission_lookup* reviews = nullptr;
        void changed(const watch::object_change& what) override {
            to->changed(what);
            reviews->came_in(what.of);
        }
        void removed(watch::kind of, const watch::object_record& last) override { to->removed(of, last); }
        void synced(watch::kind of) override { to->synced(of); }
        void missing(watch::kind of) override {
            to->missing(of);
            told.cancel();
        }
        asio::steady_timer& told;  // somebody will say so
        explicit relay(asio::steady_timer& timer) : told(timer) {}
    };

    void begin();
    // Opens the ports; false, with exit_ set, when one cannot be had.
    [[nodiscard]] bool open_ports();
    [[nodiscard]] awaitable<void> handle_signals();
    [[nodiscard]] awaitable<void> tell_missing();
    [[nodiscard]] awaitable<void> tell_suppressed();
    [[nodiscard]] awaitable<void> tell_old_server();
    [[nodiscard]] awaitable<void> work_when_leading();
    [[nodiscard]] awaitable<void> tidy_up();
    [[nodiscard]] awaitable<void> wind_down();
    [[nodiscard]] awaitable<void> drain();
    // Whether all writes came to their end.
    [[nodiscard]] awaitable<bool> end_work();
    [[nodiscard]] awaitable<void> leave_lease(bool give_back);
    [[nodiscard]] std::optional<reconcile::write_permit> lease_time() const;
    [[nodiscard]] std::optional<reconcile::write_permit> may_write() const;
    [[nodiscard]] reconcile::controller& controller_of(reconcile::key runtime);
    [[nodiscard]] reconcile::trainjob_options job_options();
    [[nodiscard]] watch::cluster::stores stores();
    [[nodiscard]] std::string doubt_about(watch::kind k, std::string_view ns) const;
    void tell_panic(std::string_view controller, reconcile::key k, std::uint64_t run, std::string_view what);

    asio::io_context& loop_;
    kube::client& api_;
    configuration config_;
    operator_flags flags_;
    runtime::plugins plugins_;
    base::logger& log_;
    base::random_source random_;
    watch::text_table texts_;
    text_holder holder_{texts_};
    base::task_group watching_;
    base::task_group working_;
    base::task_group draining_;
    asio::steady_timer reminder_;  // of definitions that are not there
    relay relay_{reminder_};
    std::unique_ptr<watch::informers> informers_;
    watch::cluster cluster_;
    reconcile::write_gate gate_;
    std::unique_ptr<reconcile::event_sink> events_;
    reconcile::trainjob_reconciler jobs_;
    reconcile::runtime_reconciler runtimes_;
    std::unique_ptr<reconcile::controller> job_controller_;
    std::unique_ptr<reconcile::controller> runtime_controller_;
    std::unique_ptr<reconcile::controller> cluster_runtime_controller_;
    reconcile::event_handlers handlers_;
    std::unique_ptr<reconcile::leader> leader_;
    admission_lookup lookup_;
    std::unique_ptr<servers> servers_;
    asio::signal_set signals_;
    bool version_asked_ = false;
    asio::steady_timer patience_;  // with what is under way at the end
    base::signal ended_;
    bool working_now_ = false;
    bool stopping_ = false;
    std::chrono::steady_clock::time_point asked_to_stop_;
    bool drained_ = false;
    operator_exit exit_ = operator_exit::stopped;
};

// What the operator's parts count, under the names of the ecosystem and our own.

// Queues, reconciles, election, requests to the API server, watches, applies.
void write_operator_metrics(serve::exposition& to, const operator_process& process, const kube::client& api,
                            const configuration& config);
// The same for people: /debug/state.
[[nodiscard]] std::string write_operator_state(const operator_process& process, const kube::client& api);

}  // namespace cotrain::app
