#include "ui/command.hpp"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

#include "api/names.hpp"
#include "kube/config.hpp"
#include "ui/watching.hpp"

namespace cotrain::ui {

namespace {

constexpr std::string_view help =
    "usage: cotrain ui [options]\n\n"
    "A page with the TrainJobs of a cluster, on this machine and with your own rights, until Ctrl-C. It reads only.\n\n"
    "  --kubeconfig FILE         instead of KUBECONFIG, the Pod's account or ~/.kube/config\n"
    "  --context NAME            of the kubeconfig\n"
    "  -n, --namespace NAME      only this namespace\n"
    "  -A, --all-namespaces      all of them: the default where you may list them, else the context's namespace\n"
    "  -l, --selector LABELS     only TrainJobs with these labels: team=vision,tier!=test\n"
    "  --address HOST:PORT       where to serve it: of this machine's loopback (default: 127.0.0.1 and any free "
    "port)\n\n"
    "Exit codes: 0 ended, 1 the cluster or the address was not to be had, 2 used wrongly.\n";

// Whoever starts it waits for this: a cluster that cannot be reached is told soon.
constexpr std::chrono::milliseconds first_answer{5'000};

int failed(const std::string& why) {
    std::fprintf(stderr, "cotrain ui: %s\n", why.c_str());
    return 1;
}

// What makes the address one that nobody guesses: other users of this machine reach its loopback, too.
base::result<std::string> make_key() {
    std::array<unsigned char, 16> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
        return base::fail(base::errc::internal, "no random bytes");
    std::string out;
    for (const unsigned char each : bytes) out += fmt::format("{:02x}", each);
    return out;
}

// All namespaces, unless only the context's may be listed.
awaitable<base::result<std::string>> choose_namespace(const command_options* wanted, kube::client* api) {
    if (!wanted->ns.empty() || wanted->all_namespaces) co_return wanted->ns;
    const auto& of = api::names::train_job;
    const auto answer =
        co_await api->may_we({.verb = "list", .group = of.group, .plural = of.plural}, {.deadline = first_answer});
    if (!answer) co_return base::fail(answer.error());
    if (answer->allowed) co_return std::string();
    const std::string& ns = api->default_namespace();
    co_return ns.empty() ? std::string("default") : ns;
}

awaitable<int> serve(asio::io_context* loop, const command_options* wanted, kube::client* api) {
    asio::signal_set signals(*loop, SIGINT, SIGTERM, SIGHUP);
    const auto ns = co_await choose_namespace(wanted, api);
    if (!ns) co_return failed(ns.error().message);
    page_options page = wanted->page;
    auto key = make_key();
    if (!key) co_return failed(key.error().message);
    page.key = std::move(*key);
    const std::string shown = api->server() + (wanted->selector.empty() ? "" : ", " + wanted->selector);
    watching it(*loop, *api, shown, *ns, wanted->selector, std::move(page), base::stderr_logger());
    if (const auto up = it.start(); !up) co_return failed(up.error().message);
    std::printf(
        "The TrainJobs of %s, %s: read only, with your rights.\n\n  %s\n\n"
        "Who has this address can read it on this machine. Ctrl-C ends it.\n",
        shown.c_str(), ns->empty() ? "all namespaces" : ("namespace " + *ns).c_str(), it.url().c_str());
    std::fflush(stdout);
    co_await signals.async_wait(use_tuple);
    co_await it.stop();
    co_return 0;
}

awaitable<void> play(asio::io_context* loop, const command_options* wanted, kube::client* api, int* code) {
    *code = co_await serve(loop, wanted, api);
    co_await api->stop();
}

}  // namespace

base::result<> read_address(std::string_view text, page_options& to) {
    const std::size_t colon = text.rfind(':');
    const std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
    const std::string_view port = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (port.empty() || error != std::errc{} || end != port.data() + port.size())
        return base::fail(base::errc::invalid,
                          fmt::format("takes HOST:PORT, like 127.0.0.1:8080, not '{}'", base::one_line(text, 80)));
    if (host.empty() || host == "localhost" || host == "127.0.0.1") {
        to.address = "127.0.0.1";
    } else if (host == "[::1]") {
        to.address = "::1";
    } else {
        return base::fail(base::errc::invalid,
                          fmt::format("{} is no address of this machine's loopback, and the page asks nobody who they "
                                      "are; take 127.0.0.1:{}, and from elsewhere 'ssh -L'",
                                      base::one_line(host, 80), number));
    }
    to.port = number;
    return {};
}

static std::vector<app::option> table_of(command_options& out) {
    return {app::text_option("--kubeconfig", out.kubeconfig),
            app::text_option("--context", out.context),
            app::text_option("--namespace", out.ns),
            app::text_option("-n", out.ns),
            app::switch_option("--all-namespaces", out.all_namespaces),
            app::switch_option("-A", out.all_namespaces),
            app::text_option("--selector", out.selector),
            app::text_option("-l", out.selector),
            app::option{"--address", [&out](std::string_view text) { return read_address(text, out.page); }}};
}

std::vector<app::option_word> option_words() {
    command_options none;
    return app::words_of(table_of(none));
}

base::result<command_options> read_command_options(app::arguments words) {
    command_options out;
    if (app::asks_for_help(words)) {
        out.help = true;
        return out;
    }
    if (auto read = app::read_options(words, table_of(out)); !read) return base::fail(std::move(read.error()));
    if (out.all_namespaces && !out.ns.empty())
        return base::fail(base::errc::invalid, "--namespace and --all-namespaces exclude each other");
    if (!out.ns.empty() && !is_name(out.ns))
        return base::fail(base::errc::invalid, "--namespace: '" + base::one_line(out.ns, 80) + "' is no name of one");
    return out;
}

int run_ui(app::arguments words) {
    const auto wanted = read_command_options(words);
    if (!wanted) return app::used_wrongly("ui: " + wanted.error().message);
    if (wanted->help) {
        std::fputs(help.data(), stdout);
        return 0;
    }
    const auto cluster = kube::find_config(kube::environment::of_process(), wanted->kubeconfig, wanted->context);
    if (!cluster) return app::used_wrongly("ui: " + cluster.error().message);
    asio::io_context loop(1);
    auto api = make_client(loop, *cluster, base::stderr_logger());
    if (!api) return app::used_wrongly("ui: " + api.error().message);
    int code = 1;
    asio::co_spawn(loop, play(&loop, &*wanted, api->get(), &code), asio::detached);
    loop.run();
    return code;
}

}  // namespace cotrain::ui
