// The Kubernetes client alone: reads a kubeconfig, lists ConfigMaps page by page, and watches them from there.
//   watch NAMESPACE [EVENTS]   prints the server's version and each event's JSON; ends after that many events (1)
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "kube/client.hpp"
#include "kube/config.hpp"

namespace {

namespace base = cotrain::base;
namespace kube = cotrain::kube;

constexpr kube::resource config_maps{.group = "", .version = "v1", .plural = "configmaps", .kind = "ConfigMap"};

cotrain::awaitable<base::result<void>> follow(kube::client* api, std::string ns, int events) {
    const auto version = co_await api->version();
    if (!version) co_return std::unexpected(version.error());
    std::printf("server %s\n", version->git_version.c_str());
    kube::list_pages pages = api->pages(config_maps, ns, {.limit = 100});
    std::string resource_version;
    for (;;) {
        const auto page = co_await pages.next();
        if (!page) co_return std::unexpected(page.error());
        if (!*page) break;
        resource_version = (*page)->head.resource_version;
    }
    auto watch = co_await api->watch(config_maps, ns, {.resource_version = resource_version, .bookmarks = false});
    if (!watch) co_return std::unexpected(watch.error());
    std::puts("watching");
    std::fflush(stdout);
    for (; events > 0; --events) {
        const auto line = co_await watch->next();
        if (!line) co_return std::unexpected(line.error());
        if (!*line) break;  // the server ended the watch: list and watch again
        std::printf("%.*s\n", static_cast<int>((*line)->size()), (*line)->data());
    }
    co_return base::result<void>{};
}

cotrain::awaitable<void> run(kube::client* api, std::string ns, int events, int* code) {
    const auto done = co_await follow(api, std::move(ns), events);
    if (!done) std::fprintf(stderr, "watch: %s\n", done.error().message.c_str());
    *code = done ? 0 : 1;
    co_await api->stop();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return std::fputs("usage: watch NAMESPACE [EVENTS]\n", stderr), 2;
    const auto cluster = kube::find_config(kube::environment::of_process());
    if (!cluster) return std::fprintf(stderr, "watch: %s\n", cluster.error().message.c_str()), 2;
    boost::asio::io_context loop(1);
    const auto api = kube::client::make(loop.get_executor(), *cluster, {.user_agent = kube::user_agent("example")},
                                        base::stderr_logger());
    if (!api) return std::fprintf(stderr, "watch: %s\n", api.error().message.c_str()), 2;
    int code = 1;
    boost::asio::co_spawn(loop, run(api->get(), argv[1], argc > 2 ? std::atoi(argv[2]) : 1, &code),
                          boost::asio::detached);
    loop.run();
    return code;
}
