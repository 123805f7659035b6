// What a host program gets: the same wiring as `cotrain operator`, behind one pointer.
#include "app/operator/operator.hpp"
#include "cotrain/operator.hpp"
#include "kube/config.hpp"
#include "plugins/builtin.hpp"

namespace cotrain {

struct embedded_operator::inside {
    std::unique_ptr<kube::client> api;
    std::unique_ptr<app::operator_process> process;
};

base::result<runtime::plugins> builtin_plugins(const runtime::plugin_options& options) {
    return plugins::builtin::make(options);
}

embedded_operator::embedded_operator(std::unique_ptr<inside> in) : inside_(std::move(in)) {}
embedded_operator::~embedded_operator() = default;

base::result<std::unique_ptr<embedded_operator>> embedded_operator::make(boost::asio::io_context& loop,
                                                                         operator_settings settings,
                                                                         base::logger& log) {
    app::configuration config;
    if (!settings.configuration.empty()) {
        auto read = app::read_configuration(settings.configuration);
        if (!read) return base::fail(std::move(read.error()).during("configuration"));
        config = std::move(*read);
    }
    const auto cluster = kube::find_config(kube::environment::of_process(), settings.kubeconfig, settings.context);
    if (!cluster) return base::fail(cluster.error());
    auto in = std::make_unique<inside>();
    auto api = kube::client::make(loop.get_executor(), *cluster, app::client_options_of(config), log);
    if (!api) return base::fail(std::move(api.error()));
    in->api = std::move(*api);
    app::operator_flags flags;
    flags.kubeconfig = settings.kubeconfig;
    flags.signals = false;
    auto plugins = settings.plugins(app::plugin_options_of(config, *in->api));
    if (!plugins) return base::fail(std::move(plugins.error()));
    if (auto good = reconcile::check_plugins(**plugins); !good) return base::fail(std::move(good.error()));
    in->process = std::make_unique<app::operator_process>(loop, *in->api, std::move(config), std::move(flags),
                                                          std::move(*plugins), log);
    return std::unique_ptr<embedded_operator>(new embedded_operator(std::move(in)));
}

awaitable<operator_end> embedded_operator::run() {
    co_return static_cast<operator_end>(co_await inside_->process->run());
}

void embedded_operator::stop() { inside_->process->stop(); }
bool embedded_operator::synced() const { return inside_->process->synced(); }
bool embedded_operator::leading() const { return inside_->process->leading(); }

}  // namespace cotrain
