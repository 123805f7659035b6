// `cotrain playground`: a cluster on this machine that stays up, with our operator and a page in it.
#include "app/playground.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "app/box_operator.hpp"
#include "app/ending_signals.hpp"
#include "app/page_server.hpp"
#include "app/playground_view.hpp"
#include "app/private_file.hpp"
#include "base/random.hpp"
#include "kube/read_file.hpp"
#include "sim/snapshot.hpp"

namespace cotrain::app {

namespace {

constexpr std::size_t kubeconfig_bytes_max = 1024UL * 1024;
// What a kubeconfig of ours is told by.
constexpr std::string_view box_context_line = "current-context: cotrain\n";

void complain(std::string_view why) { std::fputs(fmt::format("cotrain playground: {}\n", why).c_str(), stderr); }

// Whether a kubeconfig can be written there without taking something away.
bool is_free(const std::string& path) {
    if (!std::filesystem::exists(path)) return true;
    const auto text = kube::read_file(path, kubeconfig_bytes_max);
    return text && text->contains(box_context_line);
}

base::result<> check_writable(const std::string& path) {
    std::error_code ignored;
    const std::filesystem::path where = std::filesystem::path(path).parent_path();
    if (std::filesystem::is_directory(path, ignored)) return base::fail(base::errc::invalid, path + " is a directory");
    if (::access(where.empty() ? "." : where.c_str(), W_OK | X_OK) == 0) return {};
    return base::fail(base::errc::invalid, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

box_options options_of(const playground_options& wanted) {
    return {.port = wanted.port,
            .script = wanted.script,
            .faults = wanted.faults,
            .seed = base::random_source::from_system().next()};
}

class playground {
   public:
    playground(asio::io_context& loop, playground_options wanted)
        : loop_(loop),
          wanted_(std::move(wanted)),
          log_(wanted_.verbose ? base::stderr_logger() : base::null_logger()),
          box_(loop, with_change(options_of(wanted_)), log_),
          view_(box_.objects()),
          signals_(loop),
          tasks_(loop.get_executor()) {
        add_ending_signals(signals_);
    }

    // What is wrong with the files that were named: known before anything runs.
    base::result<> look_at_files() {
        for (const auto& [file, claim] :
             {std::pair{&wanted_.kubeconfig, &kubeconfig_claim_}, std::pair{&wanted_.snapshot, &snapshot_claim_}}) {
            if (file->empty()) continue;
            if (auto fine = check_writable(*file); !fine) return fine;
            if (!claim->take(*file))
                return base::fail(base::errc::invalid,
                                  *file + " is in use: by another playground, or for two things at once");
        }
        if (!wanted_.kubeconfig.empty() && !is_free(wanted_.kubeconfig))
            return base::fail(base::errc::invalid,
                              fmt::format("--kubeconfig: {} is there and is none of a playground, which would replace "
                                          "it and take it away in the end",
                                          wanted_.kubeconfig));
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
    box_options with_change(box_options out) {
        out.changed = [this] {
            if (page_ && view_.follow(std::chrono::steady_clock::now())) page_->changed();
        };
        return out;
    }

    base::result<> load() {
        if (wanted_.snapshot.empty() || !std::filesystem::exists(wanted_.snapshot)) return {};
        auto text = kube::read_file(wanted_.snapshot, sim::snapshot_bytes_max);
        if (!text) return base::fail(std::move(text.error()).during("--snapshot"));
        if (auto done = box_.load(*text); !done)
            return base::fail(std::move(done.error()).during("--snapshot " + wanted_.snapshot));
        return {};
    }

    base::result<> start() {
        if (auto done = box_.start(); !done) return done;
        if (wanted_.page) {
            page_ = std::make_unique<page_server>(
                loop_, "127.0.0.1", wanted_.page_port, [this] { return view_.to_json(); }, log_);
            if (auto done = page_->start(); !done) return done;
        }
        return kubeconfig_.write(wanted_.kubeconfig, box_.kubeconfig());
    }

    awaitable<base::result<>> start_operator() {
        operator_ = std::make_unique<box_operator>(loop_, box_, log_);
        if (auto done = operator_->start(); !done) co_return done;
        tasks_.spawn("operator", notice_end());
        if (co_await operator_->ready() || operator_->over()) co_return base::result<>{};
        co_return base::fail(base::errc::deadline, "the operator is not ready after 20 s; --verbose says why");
    }

    void tell() const {
        std::string out = fmt::format("A cluster on this machine: {}, for whoever has the kubeconfig.\n", box_.url());
        if (page_) out += fmt::format("Its TrainJobs as a page:   http://127.0.0.1:{}/\n", page_->port());
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

    // From the start on: whoever is impatient while it starts leaves no file behind either.
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
        co_await box_.stop();
    }

    asio::io_context& loop_;
    playground_options wanted_;
    base::logger& log_;
    box box_;
    playground_view view_;
    std::unique_ptr<page_server> page_;
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

int run_playground(arguments words) {
    auto wanted = read_playground_options(words);
    if (!wanted) return used_wrongly("playground: " + wanted.error().message);
    if (wanted->help) {
        std::fputs(std::string(playground_help()).c_str(), stdout);
        return 0;
    }
    asio::io_context loop(1);
    int code = 1;
    playground it(loop, std::move(*wanted));
    if (auto fine = it.look_at_files(); !fine) return used_wrongly("playground: " + fine.error().message);
    asio::co_spawn(loop, play(&it, &code), asio::detached);
    loop.run();
    return code;
}

}  // namespace cotrain::app
