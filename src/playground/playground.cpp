#include "playground/playground.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/random.hpp"
#include "base/read_file.hpp"
#include "playground/box.hpp"
#include "playground/private_file.hpp"
#include "sim/cluster.hpp"
#include "ui/watching.hpp"

namespace cotrain::playground {

namespace {

constexpr std::size_t faults_bytes_max = 64UL * 1024;

app::option port_option(std::string_view name, std::uint16_t& to) {
    return {name, [&to](std::string_view text) -> base::result<> {
                const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
                if (error == std::errc{} && end == text.data() + text.size()) return {};
                return base::fail(base::errc::invalid,
                                  fmt::format("'{}' is no port; 0 to 65535, 0 is any free one", text));
            }};
}

app::option file_option(std::string_view name, std::string& to) {
    return {name, [&to](std::string_view value) -> base::result<> {
                if (value.empty()) return base::fail(base::errc::invalid, "needs the name of a file");
                to = value;
                return {};
            }};
}

// A file if it begins with @, else the rules themselves.
base::result<std::vector<sim::fault_rule>> read_fault_rules(std::string_view value) {
    if (!value.starts_with('@')) return sim::read_faults(value);
    auto text = base::read_file(std::string(value.substr(1)), faults_bytes_max);
    if (!text) return base::fail(std::move(text.error()));
    return sim::read_faults(*text);
}

// Stores what `read` makes of a value.
template <class T, class Read>
app::option parsed_option(std::string_view name, T& to, Read read) {
    return {name, [&to, read](std::string_view value) -> base::result<> {
                auto made = read(value);
                if (!made) return base::fail(std::move(made.error()));
                to = std::move(*made);
                return {};
            }};
}

void complain(std::string_view why) { std::fputs(fmt::format("cotrain playground: {}\n", why).c_str(), stderr); }

box_options options_of(const playground_options& wanted) {
    return {.port = wanted.port,
            .script = wanted.script,
            .faults = wanted.faults,
            .spared_agent = std::string(ui::agent),
            .seed = base::random_source::from_system().next()};
}

class playground {
   public:
    playground(asio::io_context& loop, playground_options wanted)
        : loop_(loop),
          wanted_(std::move(wanted)),
          log_(wanted_.verbose ? base::stderr_logger() : base::null_logger()),
          box_(loop, options_of(wanted_), log_),
          signals_(loop),
          tasks_(loop.get_executor()) {
        add_ending_signals(signals_);
    }

    // What is wrong with the files that were named: known before anything runs.
    base::result<> check_files() {
        for (const auto& [file, claim] :
             {std::pair{&wanted_.kubeconfig, &kubeconfig_claim_}, std::pair{&wanted_.snapshot, &snapshot_claim_}}) {
            if (file->empty()) continue;
            if (auto fine = check_writable(*file); !fine) return fine;
            if (!claim->take(*file))
                return base::fail(base::errc::invalid,
                                  *file + " is in use: by another playground, or for two things at once");
        }
        if (auto fine = check_kubeconfig(wanted_.kubeconfig); !fine) return fine;
        return load();
    }

    awaitable<int> run() {
        tasks_.spawn("signals", listen());
        auto up = start();
        if (up && wanted_.with_operator) up = co_await start_operator();
        if (up) {
            if (!asked_to_end_) tell();
            up = co_await until_stopped();
            if (auto saved = save(); up) up = std::move(saved);
        }
        co_await stop();
        if (up) co_return 0;
        complain(up.error().message);
        co_return 1;
    }

   private:
    base::result<> load() {
        if (wanted_.snapshot.empty() || !std::filesystem::exists(wanted_.snapshot)) return {};
        auto text = base::read_file(wanted_.snapshot, sim::snapshot_bytes_max);
        if (!text) return base::fail(std::move(text.error()).during("--snapshot"));
        if (auto done = box_.load(*text); !done)
            return base::fail(std::move(done.error()).during("--snapshot " + wanted_.snapshot));
        return {};
    }

    base::result<> start() {
        if (auto done = box_.start(); !done) return done;
        if (wanted_.page) {
            if (auto done = start_page(); !done) return done;
        }
        return kubeconfig_.write(wanted_.kubeconfig, box_.kubeconfig());
    }

    base::result<> start_page() {
        auto api = ui::make_client(loop_, box_.config(), log_);
        if (!api) return base::fail(std::move(api.error()));
        page_api_ = std::move(*api);
        page_ = std::make_unique<ui::watching>(loop_, *page_api_, "the playground", "", "",
                                               ui::page_options{.port = wanted_.page_port}, log_);
        return page_->start();
    }

    awaitable<base::result<>> start_operator() {
        operator_ = std::make_unique<box_operator>(loop_, box_, log_);
        if (auto done = operator_->start(); !done) co_return done;
        tasks_.spawn("operator", notice_end());
        if (co_await operator_->ready() || operator_->over()) co_return base::result<>{};
        co_return base::fail(base::errc::deadline, "the operator is not ready after 20 s; --verbose says why");
    }

    void tell() const {
        std::string out =
            fmt::format("A cluster on this machine: {}, for anyone who has the kubeconfig.\n", box_.url());
        if (page_) out += fmt::format("Its TrainJobs as a page:   {}\n", page_->url());
        out += fmt::format(
            "\nIn another terminal:\n\n"
            "  export KUBECONFIG={}\n"
            "  kubectl apply -f examples/torch.yaml -f examples/mpi.yaml\n"
            "  kubectl get trainjobs,jobsets,pods\n"
            "  kubectl get trainjobs -w\n"
            "  kubectl wait --for=condition=Complete trainjob/torch-two\n"
            "  kubectl describe trainjob mpi-pi\n\n{}",
            kubeconfig_.path(),
            wanted_.with_operator
                ? ""
                : "No operator runs in it. Yours:\n\n  cotrain operator --kubeconfig $KUBECONFIG\n\n");
        out += wanted_.snapshot.empty() ? "Ctrl-C ends it, and nothing is kept.\n"
                                        : fmt::format("Ctrl-C ends it; its objects go to {}.\n", wanted_.snapshot);
        std::fputs(out.c_str(), stdout);
        std::fflush(stdout);
    }

    // From the start on: an interrupt while it starts leaves no file behind either.
    awaitable<void> listen() {
        const auto [error, number] = co_await signals_.async_wait(use_tuple);
        if (error) co_return;
        asked_to_end_ = true;
        end_.notify_later();
    }

    awaitable<void> notice_end() {
        co_await operator_->ended();
        end_.notify_later();
    }

    // The operator listens to the signals, too, and ends with them.
    awaitable<base::result<>> until_stopped() {
        while (!asked_to_end_) {
            if (operator_ && operator_->over())
                co_return base::fail(base::errc::internal, "the operator ended; --verbose says why");
            if (!co_await end_.wait()) break;
        }
        co_return base::result<>{};
    }

    base::result<> save() {
        if (wanted_.snapshot.empty()) return {};
        return write_private_file(wanted_.snapshot, sim::write_snapshot(box_.objects()));
    }

    awaitable<void> stop() {
        signals_.cancel();
        tasks_.cancel();
        co_await tasks_.join();
        if (operator_) co_await operator_->stop();
        if (page_) co_await page_->stop();
        if (page_api_) co_await page_api_->stop();
        co_await box_.stop();
    }

    asio::io_context& loop_;
    playground_options wanted_;
    base::logger& log_;
    box box_;
    std::unique_ptr<kube::client> page_api_;
    std::unique_ptr<ui::watching> page_;
    std::unique_ptr<box_operator> operator_;
    file_claim kubeconfig_claim_, snapshot_claim_;
    temporary_file kubeconfig_;
    asio::signal_set signals_;
    base::signal end_;
    bool asked_to_end_ = false;
    base::task_group tasks_;
};

awaitable<void> play(playground* what, int* code) { *code = co_await what->run(); }

}  // namespace

std::string_view playground_help() {
    return "usage: cotrain playground [options]\n\n"
           "An API server on this machine's loopback with our operator in it, for kubectl and for programs, until\n"
           "Ctrl-C. JobSets are played: Jobs and Pods appear, get ready and end by a script.\n\n"
           "  --kubeconfig FILE   where to write the kubeconfig (default: a temporary file, removed at the end)\n"
           "  --port N            of the API server (default: any free one)\n"
           "  --page-port N       of the page that shows TrainJobs (default: any free one)\n"
           "  --no-page           no page\n"
           "  --no-operator       no operator of ours: run your own with the kubeconfig\n"
           "  --snapshot FILE     objects are read from it at the start, if it is there, and written to it at the end\n"
           "  --script TEXT       how JobSets fare: \"start 100ms, ready 300ms, run 1500ms, succeed\" is the default;\n"
           "                      also fail, never, no-pods. A TrainJob's annotation playground.cotrain/script wins\n"
           "  --faults RULES      trouble by rules, or @FILE with them: \"every 10 patch * status 429 retry-after 1;\n"
           "                      5% * * delay 200ms; once watch trainjobs expire\"; docs/playground.md has all\n"
           "  --verbose           the operator's log on standard error\n";
}

static std::vector<app::option> table_of(playground_options& out) {
    return {port_option("--port", out.port),
            port_option("--page-port", out.page_port),
            file_option("--kubeconfig", out.kubeconfig),
            file_option("--snapshot", out.snapshot),
            parsed_option("--script", out.script, [](std::string_view text) { return sim::read_script(text); }),
            parsed_option("--faults", out.faults, read_fault_rules),
            app::switch_option("--no-page", out.page, false),
            app::switch_option("--no-operator", out.with_operator, false),
            app::switch_option("--verbose", out.verbose)};
}

std::vector<app::option_word> playground_words() {
    playground_options none;
    return app::words_of(table_of(none));
}

base::result<playground_options> read_playground_options(app::arguments words) {
    playground_options out;
    if (app::asks_for_help(words)) {
        out.help = true;
        return out;
    }
    if (auto read = app::read_options(words, table_of(out)); !read) return base::fail(std::move(read.error()));
    return out;
}

int run_playground(app::arguments words) {
    auto wanted = read_playground_options(words);
    if (!wanted) return app::used_wrongly("playground: " + wanted.error().message);
    if (wanted->help) {
        std::fputs(std::string(playground_help()).c_str(), stdout);
        return 0;
    }
    asio::io_context loop(1);
    int code = 1;
    playground it(loop, std::move(*wanted));
    if (auto fine = it.check_files(); !fine) return app::used_wrongly("playground: " + fine.error().message);
    asio::co_spawn(loop, play(&it, &code), asio::detached);
    loop.run();
    return code;
}

}  // namespace cotrain::playground
