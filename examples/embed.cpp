// A host program with the operator inside: one event loop for both, and the host decides when it ends.
//   embed [KUBECONFIG [PORT]]   until Ctrl-C; needs the definitions of deploy/crds and of JobSet in the cluster
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include "cotrain/operator.hpp"

namespace {

namespace asio = boost::asio;

// No ports but what is wanted: this host has servers of its own.
std::string configuration(const std::string& webhook_port) {
    return "apiVersion: config.trainer.kubeflow.org/v1alpha1\n"
           "kind: Configuration\n"
           "webhook: {host: 127.0.0.1, port: " +
           webhook_port +
           "}\n"
           "metrics: {bindAddress: '0'}\n"
           "health: {healthProbeBindAddress: '0'}\n"
           "certManagement: {enable: false}\n";
}

// What the host does beside it.
cotrain::awaitable<void> say_when_it_leads(const cotrain::embedded_operator* inside) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!inside->leading()) {
        timer.expires_after(std::chrono::milliseconds(100));
        co_await timer.async_wait(asio::use_awaitable);
    }
    std::puts("host: the operator works");
    std::fflush(stdout);
}

cotrain::awaitable<void> run(cotrain::embedded_operator* inside, asio::io_context* loop, int* code) {
    *code = static_cast<int>(co_await inside->run());
    loop->stop();
}

}  // namespace

int main(int argc, char** argv) {
    asio::io_context loop(1);
    cotrain::operator_settings settings{.configuration = configuration(argc > 2 ? argv[2] : "19443")};
    if (argc > 1) settings.kubeconfig = argv[1];
    const auto made = cotrain::embedded_operator::make(loop, settings, cotrain::base::stderr_logger());
    if (!made) {
        std::fprintf(stderr, "host: %s\n", made.error().message.c_str());
        return 1;
    }
    cotrain::embedded_operator* const inside = made->get();
    asio::signal_set signals(loop, SIGINT, SIGTERM);
    signals.async_wait([inside](const boost::system::error_code& error, int) {
        if (!error) inside->stop();
    });
    int code = 1;
    asio::co_spawn(loop, run(inside, &loop, &code), asio::detached);
    asio::co_spawn(loop, say_when_it_leads(inside), asio::detached);
    loop.run();
    std::printf("host: the operator has ended with %d\n", code);
    return code;
}
