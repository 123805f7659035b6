// `cotrain operator`: flags and configuration in, an exit code out.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstdio>

#include "app/command.hpp"
#include "app/operator.hpp"
#include "app/private_memory.hpp"
#include "app/process_limits.hpp"
#include "kube/find_config.hpp"
#include "net/tls/secure_memory.hpp"

namespace cotrain::app {

namespace {

int failed(operator_exit code, const base::error& why) {
    std::fprintf(stderr, "cotrain operator: %s\n", why.message.c_str());
    return static_cast<int>(code);
}

awaitable<void> play(operator_process* process, operator_exit* code) { *code = co_await process->run(); }

}  // namespace

int run_operator(arguments words) {
    for (const std::string_view w : words) {
        if (w != "--help" && w != "-help" && w != "-h") continue;
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
    const auto cluster = kube::find_config(kube::surroundings::of_process(), flags->kubeconfig);
    if (!cluster) return failed(operator_exit::wrong, cluster.error());

    static_cast<void>(net::tls::use_secure_memory());  // before the first key is read
    asio::io_context loop(1);
    auto api = kube::client::make(loop.get_executor(), *cluster, client_options_of(*config), log);
    if (!api) return failed(operator_exit::failed, api.error());
    operator_exit code = operator_exit::failed;
    operator_process process(loop, **api, std::move(*config), std::move(*flags), log);
    asio::co_spawn(loop, play(&process, &code), asio::detached);
    loop.run();
    return static_cast<int>(code);
}

}  // namespace cotrain::app
