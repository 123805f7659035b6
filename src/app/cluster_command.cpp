// Options as pairs of words, and a loop that lives as long as one coroutine.
#include "app/cluster_command.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "kube/find_config.hpp"

namespace cotrain::app {

namespace {

awaitable<void> play(const cluster_work* work, kube::client* api, const kube::cluster_config* config) {
    co_await (*work)(api, config);
    co_await api->stop();
}

}  // namespace

base::result<> read_text_options(std::string_view command, arguments words, std::span<const text_option> options,
                                 std::span<const text_option> flags) {
    const auto wrong = [&](std::string why) {
        return base::fail(base::errc::invalid, std::string(command) + ": " + std::move(why));
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (const auto flag = std::ranges::find(flags, words[i], &text_option::name); flag != flags.end()) {
            *flag->to = "true";
            continue;
        }
        const std::size_t equal = words[i].find('=');
        const std::string name(words[i].substr(0, equal));
        const auto known = std::ranges::find(options, name, &text_option::name);
        if (known == options.end())
            return wrong("no option '" + name + "'; see cotrain " + std::string(command) + " --help");
        if (equal == std::string_view::npos && ++i == words.size()) return wrong(name + " needs a value");
        *known->to = equal == std::string_view::npos ? words[i] : words[i].substr(equal + 1);
    }
    return {};
}

bool asks_for_help(arguments words) {
    return std::ranges::any_of(words, [](std::string_view w) { return w == "--help" || w == "-h"; });
}

base::result<> with_cluster(const std::string& kubeconfig, const std::string& context, const cluster_work& work) {
    const auto config = kube::find_config(kube::surroundings::of_process(), kubeconfig, context);
    if (!config) return base::fail(config.error());
    asio::io_context loop(1);
    kube::client_options with;
    with.user_agent = kube::user_agent(COTRAIN_VERSION);
    auto api = kube::client::make(loop.get_executor(), *config, with, base::stderr_logger());
    if (!api) return base::fail(std::move(api.error()));
    asio::co_spawn(loop, play(&work, api->get(), &*config), asio::detached);
    loop.run();
    return {};
}

}  // namespace cotrain::app
