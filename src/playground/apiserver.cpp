#include "playground/apiserver.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/random.hpp"
#include "base/read_file.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "playground/local_tls.hpp"
#include "playground/private_file.hpp"
#include "sim/server.hpp"

namespace cotrain::playground {

namespace {

constexpr std::size_t certificate_bytes_max = 1024UL * 1024;
constexpr std::string_view administrator = "kubernetes-admin";

constexpr std::string_view help_text =
    "usage: cotrain apiserver [options]\n\n"
    "A Kubernetes API server for tests, on this machine's loopback and in memory, until Ctrl-C. docs/apiserver.md "
    "says\n"
    "what it is not.\n\n"
    "  --crds FILE|DIR     CustomResourceDefinitions to begin with; may be given more than once\n"
    "  --port N            where it serves (default: any free one)\n"
    "  --kubeconfig FILE   where to write the kubeconfig (default: a temporary file, removed at the end)\n"
    "  --no-controllers    garbage is not collected and namespaces do not end, as with kube-apiserver alone\n"
    "  --envtest DIR       writes kube-apiserver and etcd for envtest into DIR, and ends: KUBEBUILDER_ASSETS=DIR\n"
    "  --verbose           each rule of a definition that is not judged, and a log on standard error\n";

base::result<> read_port(std::string_view text, std::uint16_t& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error == std::errc{} && end == text.data() + text.size()) return {};
    return base::fail(base::errc::invalid, fmt::format("'{}' is no port; 0 to 65535, 0 is any free one", text));
}

app::option path_option(std::string_view name, std::string& to) {
    return {name, [&to](std::string_view value) -> base::result<> {
                if (value.empty()) return base::fail(base::errc::invalid, "needs a name");
                to = value;
                return {};
            }};
}

std::vector<app::option> table_of(apiserver_options& out) {
    return {{"--crds",
             [&out](std::string_view value) -> base::result<> {
                 if (value.empty()) return base::fail(base::errc::invalid, "needs the name of a file or directory");
                 out.definitions.emplace_back(value);
                 return {};
             }},
            {"--port", [&out](std::string_view text) { return read_port(text, out.port); }},
            path_option("--kubeconfig", out.kubeconfig),
            app::switch_option("--no-controllers", out.controllers, false),
            path_option("--envtest", out.envtest),
            app::switch_option("--verbose", out.verbose)};
}

class api_server {
   public:
    api_server(asio::io_context& loop, apiserver_options wanted)
        : loop_(loop),
          wanted_(std::move(wanted)),
          log_(wanted_.verbose ? base::stderr_logger() : base::null_logger()),
          cluster_(base::random_source::from_system().next()),
          signals_(loop),
          tasks_(loop.get_executor()) {
        add_ending_signals(signals_);
    }

    // Definitions and files that were named: known before anything runs.
    base::result<> prepare() {
        if (!wanted_.kubeconfig.empty()) {
            if (auto fine = check_writable(wanted_.kubeconfig); !fine) return fine;
            if (!claim_.take(wanted_.kubeconfig))
                return base::fail(base::errc::invalid, wanted_.kubeconfig + " is in use by another playground");
            if (auto fine = check_kubeconfig(wanted_.kubeconfig); !fine) return fine;
        }
        if (auto done = add_first_objects(cluster_, wanted_.controllers); !done) return done;
        for (const std::string& each : wanted_.definitions) {
            if (auto done = load_definitions(cluster_, each, wanted_.verbose, unjudged_); !done) return done;
        }
        return {};
    }

    awaitable<int> run() {
        auto up = start();
        if (up) {
            tasks_.spawn("signals", listen());
            if (!wanted_.envtest_server) tell();
            while (!asked_to_end_ && co_await end_.wait()) continue;
        }
        signals_.cancel();
        if (server_) co_await server_->stop();
        tasks_.cancel();
        co_await tasks_.join();
        if (up) co_return 0;
        std::fputs(fmt::format("cotrain apiserver: {}\n", up.error().message).c_str(), stderr);
        co_return 1;
    }

   private:
    base::result<> start() {
        if (auto done = prepare_tls(); !done) return done;
        sim::server_config config;
        config.wire.address = wanted_.address;
        config.wire.port = wanted_.port;
        config.wire.tls = [tls = tls_.context] { return tls; };
        config.closed = true;
        config.collects = wanted_.controllers;
        server_ = std::make_unique<sim::server>(loop_.get_executor(), cluster_, std::move(config), log_);
        if (auto done = server_->start(); !done) return done;
        if (wanted_.envtest_server) return {};
        const std::string token = random_token();
        cluster_.tokens()[token] = {std::string(administrator), {"system:masters", "system:authenticated"}};
        return kubeconfig_.write(
            wanted_.kubeconfig,
            write_kubeconfig({.server = url(), .ca_pem = tls_.ca_pem, .user = administrator, .token = token}));
    }

    static base::result<std::string> read(const std::string& path) {
        return path.empty() ? base::result<std::string>{} : base::read_file(path, certificate_bytes_max);
    }

    base::result<> prepare_tls() {
        auto authority = read(wanted_.client_ca_file);
        if (!authority) return base::fail(std::move(authority.error()));
        std::string certificate = wanted_.certificate_file;
        std::string key = wanted_.key_file;
        if (certificate.empty() && !wanted_.certificate_dir.empty()) {
            certificate = wanted_.certificate_dir + "/apiserver.crt";
            key = wanted_.certificate_dir + "/apiserver.key";
            if (!std::filesystem::exists(certificate)) certificate.clear();
        }
        if (certificate.empty()) {
            auto made = make_local_tls(wanted_.address, std::move(*authority));
            if (!made) return base::fail(std::move(made.error()));
            tls_ = std::move(*made);
            return {};
        }
        auto certificate_pem = read(certificate);
        if (!certificate_pem) return base::fail(std::move(certificate_pem.error()));
        auto key_pem = read(key);
        if (!key_pem) return base::fail(std::move(key_pem.error()));
        auto context = net::tls::context::for_server({.certificate_pem = std::move(*certificate_pem),
                                                      .key_pem = std::move(*key_pem),
                                                      .client_ca_pem = std::move(*authority)});
        if (!context) return base::fail(std::move(context.error()));
        tls_.context = std::move(*context);
        return {};
    }

    [[nodiscard]] std::string url() const { return fmt::format("https://{}:{}", wanted_.address, server_->port()); }

    void tell() const {
        std::string out = fmt::format("A Kubernetes API server for tests: {}\n\n  export KUBECONFIG={}\n\n", url(),
                                      kubeconfig_.path());
        for (const std::string& line : unjudged_) out += line + "\n";
        out += "Ctrl-C ends it, and nothing is kept.\n";
        std::fputs(out.c_str(), stdout);
        std::fflush(stdout);
    }

    awaitable<void> listen() {
        const auto [error, number] = co_await signals_.async_wait(use_tuple);
        if (error) co_return;
        asked_to_end_ = true;
        end_.notify_later();
    }

    asio::io_context& loop_;
    apiserver_options wanted_;
    base::logger& log_;
    sim::cluster cluster_;
    std::vector<std::string> unjudged_;
    local_tls tls_;
    std::unique_ptr<sim::server> server_;
    file_claim claim_;
    temporary_file kubeconfig_;
    asio::signal_set signals_;
    base::signal end_;
    bool asked_to_end_ = false;
    base::task_group tasks_;
};

awaitable<void> serve(api_server* what, int* code) { *code = co_await what->run(); }

int run_server(apiserver_options wanted) {
    asio::io_context loop(1);
    int code = 1;
    api_server it(loop, std::move(wanted));
    if (auto fine = it.prepare(); !fine) return app::used_wrongly("apiserver: " + fine.error().message);
    asio::co_spawn(loop, serve(&it, &code), asio::detached);
    loop.run();
    return code;
}

int run_kube_apiserver(app::arguments words) {
    auto wanted = read_kube_apiserver_flags(words);
    if (!wanted) return app::used_wrongly("kube-apiserver: " + wanted.error().message);
    if (!wanted->help) return run_server(std::move(*wanted));
    std::fputs(
        "cotrain in the place of kube-apiserver, for envtest. These flags mean something, and others are let be:\n\n"
        "      --bind-address, --secure-port, --cert-dir, --tls-cert-file, --tls-private-key-file, --client-ca-file\n",
        stdout);
    return 0;
}

}  // namespace

std::vector<app::option_word> apiserver_words() {
    apiserver_options none;
    return app::words_of(table_of(none));
}

base::result<apiserver_options> read_apiserver_options(app::arguments words) {
    apiserver_options out;
    out.help = app::asks_for_help(words);
    if (out.help) return out;
    if (auto read = app::read_options(words, table_of(out)); !read) return base::fail(std::move(read.error()));
    return out;
}

base::result<apiserver_options> read_kube_apiserver_flags(app::arguments words) {
    apiserver_options out{.help = app::asks_for_help(words), .controllers = false, .envtest_server = true};
    const auto take = [&](std::string_view name, std::string_view value) -> base::result<> {
        if (name == "--secure-port") return read_port(value, out.port);
        std::string* const to = name == "--bind-address"           ? &out.address
                                : name == "--cert-dir"             ? &out.certificate_dir
                                : name == "--tls-cert-file"        ? &out.certificate_file
                                : name == "--tls-private-key-file" ? &out.key_file
                                : name == "--client-ca-file"       ? &out.client_ca_file
                                                                   : nullptr;
        if (to != nullptr) *to = value;
        return {};
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view name = words[i].substr(0, words[i].find('='));
        std::string_view value;
        if (name.size() < words[i].size()) {
            value = words[i].substr(name.size() + 1);
        } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
            value = words[++i];
        }
        if (auto taken = take(name, value); !taken)
            return base::fail(std::move(taken.error()).during(std::string(name)));
    }
    return out;
}

int run_apiserver(app::arguments words) {
    if (words.size() >= 2 && words[0] == "--as" && words[1] == "kube-apiserver")
        return run_kube_apiserver(words.subspan(2));
    if (words.size() >= 2 && words[0] == "--as" && words[1] == "etcd") return run_etcd(words.subspan(2));
    auto wanted = read_apiserver_options(words);
    if (!wanted) return app::used_wrongly("apiserver: " + wanted.error().message);
    if (wanted->help) {
        std::fputs(std::string(help_text).c_str(), stdout);
        return 0;
    }
    if (wanted->envtest.empty()) return run_server(std::move(*wanted));
    if (auto done = write_envtest(wanted->envtest); !done)
        return app::used_wrongly("apiserver: " + done.error().message);
    std::fputs(
        fmt::format("export KUBEBUILDER_ASSETS={}\n", std::filesystem::absolute(wanted->envtest).string()).c_str(),
        stdout);
    return 0;
}

}  // namespace cotrain::playground
