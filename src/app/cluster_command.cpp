#include "app/cluster_command.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <utility>

#include "app/build_info.hpp"
#include "kube/config.hpp"

namespace cotrain::app {

namespace {

// One run of a command: the work, and the alarm that ends it. Who comes first stops the client.
struct errand {
    const cluster_work& work;
    const kube::cluster_config& config;
    kube::client& api;
    asio::steady_timer alarm;
    bool stopped = false;
};

awaitable<void> play(errand* e) {
    co_await e->work(&e->api, &e->config);
    if (std::exchange(e->stopped, true)) co_return;
    e->alarm.cancel();
    co_await e->api.stop();
}

// Requests that are under way end as canceled; the work then says what it has.
awaitable<void> end_in_time(errand* e) {
    const auto [code] = co_await e->alarm.async_wait(use_tuple);
    if (!code && !std::exchange(e->stopped, true)) co_await e->api.stop();
}

kube::client_options options_of(patience with) {
    kube::client_options out;
    out.user_agent = kube::user_agent(version());
    if (with == patience::unbounded) return out;
    out.deadline = command_request_time_max;
    out.retry.failing_max = 1;
    out.wire.repeats_max = 0;
    return out;
}

}  // namespace

base::result<> with_cluster(const std::string& kubeconfig, const std::string& context, const cluster_work& work,
                            patience with) {
    const auto config = kube::find_config(kube::environment::of_process(), kubeconfig, context);
    if (!config) return base::fail(config.error());
    asio::io_context loop(1);
    // What the log would say of the connection is part of the error that the command tells.
    base::logger& log = with == patience::brief ? base::null_logger() : base::stderr_logger();
    auto api = kube::client::make(loop.get_executor(), *config, options_of(with), log);
    if (!api) return base::fail(std::move(api.error()));
    errand run{work, *config, **api, asio::steady_timer(loop, command_time_max)};
    asio::co_spawn(loop, play(&run), asio::detached);
    if (with == patience::brief) asio::co_spawn(loop, end_in_time(&run), asio::detached);
    loop.run();
    return {};
}

}  // namespace cotrain::app
