// `cotrain playground`: a cluster on this machine that stays up, with our operator and a page in it.
#include "app/playground.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "app/box_operator.hpp"
#include "app/page_server.hpp"
#include "app/playground_view.hpp"
#include "app/private_file.hpp"
#include "base/random.hpp"
#include "kube/read_file.hpp"
#include "sim/snapshot.hpp"

namespace cotrain::app {

namespace {

void complain(std::string_view why) { std::fputs(fmt::format("cotrain playground: {}\n", why).c_str(), stderr); }

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
          signals_(loop) {}

    awaitable<int> run() {
        auto up = start();
        if (up && wanted_.with_operator) up = co_await start_operator();
        if (up) {
            tell();
            co_await until_stopped();
            up = save();
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

    base::result<> start() {
        if (!wanted_.snapshot.empty() && std::filesystem::exists(wanted_.snapshot)) {
            auto text = kube::read_file(wanted_.snapshot, sim::snapshot_bytes_max);
            if (!text) return base::fail(std::move(text.error()));
            if (auto done = box_.load(*text); !done)
                return base::fail(std::move(done.error()).during(wanted_.snapshot));
        }
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

    // The operator listens to the signals, too, and ends with them.
    awaitable<void> until_stopped() {
        signals_.add(SIGINT);
        signals_.add(SIGTERM);
        static_cast<void>(co_await signals_.async_wait(use_tuple));
    }

    base::result<> save() {
        if (wanted_.snapshot.empty()) return {};
        return write_private_file(wanted_.snapshot, sim::write_snapshot(box_.objects()));
    }

    awaitable<void> stop() {
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
    temporary_file kubeconfig_;
    asio::signal_set signals_;
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
    asio::co_spawn(loop, play(&it, &code), asio::detached);
    loop.run();
    return code;
}

}  // namespace cotrain::app
