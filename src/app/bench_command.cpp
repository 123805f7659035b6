// `cotrain bench`: repetitions in turn, then what they say.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "app/bench_report.hpp"
#include "app/bench_run.hpp"
#include "app/ending_signals.hpp"
#include "kube/find_config.hpp"
#include "kube/read_file.hpp"

namespace cotrain::app {

namespace {

constexpr std::size_t baseline_bytes_max = 64UL << 20U;

int failed(const base::error& why) {
    std::fputs(fmt::format("cotrain bench: {}\n", why.message).c_str(), stderr);
    return 1;
}

int refused(const base::error& why) { return used_wrongly("bench: " + why.message); }

class bench {
   public:
    bench(asio::io_context& loop, bench_options options) : loop_(loop), options_(std::move(options)), signals_(loop) {
        result_.load = describe(options_.load);
        result_.server = options_.kubeconfig.empty() ? "embedded" : "of the kubeconfig";
        result_.version = COTRAIN_VERSION;
        for (const bench_controller& each : options_.controllers)
            result_.controllers.push_back({.name = each.name, .command = each.command});
        latencies_.resize(options_.controllers.size());
    }

    awaitable<base::result<bench_result>> perform() {
        add_ending_signals(signals_);
        base::task_group listening(loop_.get_executor());
        listening.spawn("signals", listen());
        auto done = co_await repeat();
        over_ = true;
        signals_.cancel();
        co_await listening.join();
        if (!done) co_return base::fail(std::move(done.error()));
        for (std::size_t i = 0; i < latencies_.size(); ++i)
            result_.controllers[i].curve = distribution_curve(std::move(latencies_[i]));
        co_return std::move(result_);
    }

   private:
    // In turn, so that a slow minute of the machine is everybody's; every other time backwards, so that what one leaves
    // to the next on a real server is, too.
    awaitable<base::result<>> repeat() {
        const std::size_t all = options_.controllers.size();
        for (std::int64_t round = 0; round < options_.repetitions; ++round) {
            for (std::size_t turn = 0; turn < all; ++turn) {
                const std::size_t i = round % 2 == 0 ? turn : all - 1 - turn;
                tell(fmt::format("{}: {} of {}", options_.controllers[i].name, round + 1, options_.repetitions));
                bench_run run(loop_, options_, options_.controllers[i]);
                now_ = &run;
                auto measured = co_await run.perform();
                now_ = nullptr;
                if (!measured) co_return base::fail(std::move(measured.error()));
                take(i, std::move(*measured));
                if (stopped_) co_return base::fail(base::errc::canceled, "interrupted");
            }
        }
        tell({});
        co_return base::result<>{};
    }

    void take(std::size_t which, bench_measured from) {
        controller_result& to = result_.controllers[which];
        for (const auto& [key, value] : from.metrics) to.metrics[key].push_back(value);
        latencies_[which].insert(latencies_[which].end(), from.latencies_ms.begin(), from.latencies_ms.end());
        to.samples = std::move(from.samples);
        to.traffic = std::move(from.traffic);
        to.traffic_jobs = static_cast<std::uint64_t>(options_.load.jobs);
    }

    awaitable<void> listen() {
        while (!over_) {
            const auto [error, number] = co_await signals_.async_wait(use_tuple);
            if (error) co_return;
            stopped_ = true;
            if (now_ != nullptr) now_->cancel();
        }
    }

    // A line that replaces itself, where somebody watches.
    static void tell(std::string_view what) {
        if (::isatty(STDERR_FILENO) == 0) return;
        std::fputs(fmt::format("\r\x1b[K{}", what).c_str(), stderr);
    }

    asio::io_context& loop_;
    bench_options options_;
    asio::signal_set signals_;
    bench_result result_;
    std::vector<std::vector<double>> latencies_;
    bench_run* now_ = nullptr;
    bool stopped_ = false;
    bool over_ = false;
};

awaitable<void> play(bench* what, base::result<bench_result>* into) { *into = co_await what->perform(); }

base::result<> write_text(const std::string& path, std::string_view text) {
    std::ofstream out(path, std::ios::binary);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    if (out) return {};
    return base::fail(base::errc::invalid, "cannot write " + path);
}

// What is wrong with the files is to be known before the minutes that the measuring takes.
base::result<std::optional<bench_result>> prepare(const bench_options& options) {
    std::set<std::filesystem::path> files;
    for (const std::string* each : {&options.json, &options.html, &options.markdown}) {
        if (each->empty()) continue;
        std::error_code error;
        if (std::filesystem::is_directory(*each, error))
            return base::fail(base::errc::invalid, *each + " is a directory");
        if (!files.insert(std::filesystem::weakly_canonical(std::filesystem::absolute(*each, error), error)).second)
            return base::fail(base::errc::invalid, *each + " is named for two things");
        const bool there = ::access(each->c_str(), F_OK) == 0;
        if (!there) {
            if (auto done = write_text(*each, ""); !done) return base::fail(std::move(done.error()));
            ::unlink(each->c_str());
        }
        if (there && ::access(each->c_str(), W_OK) != 0)
            return base::fail(base::errc::invalid, "cannot write " + *each);
    }
    if (!options.kubeconfig.empty() && ::access(options.kubeconfig.c_str(), R_OK) != 0)
        return base::fail(base::errc::invalid, "--kubeconfig: cannot read " + options.kubeconfig);
    if (!options.kubeconfig.empty()) {
        const auto where = kube::find_config(kube::surroundings::of_process(), options.kubeconfig);
        if (!where) return base::fail(where.error());
    }
    if (options.baseline.empty()) return std::nullopt;
    for (const bench_controller& each : options.controllers) {
        if (each.name != options.baseline) continue;
        if (options.controllers.size() == 1)
            return base::fail(base::errc::invalid,
                              fmt::format("--baseline: '{}' is the only controller of this run", each.name));
        return std::nullopt;
    }
    auto text = kube::read_file(options.baseline, baseline_bytes_max);
    if (!text) return base::fail(std::move(text.error()).during("--baseline"));
    auto read = read_bench_result(*text);
    if (!read) return base::fail(std::move(read.error()).during("--baseline " + options.baseline));
    return std::move(*read);
}

base::result<maybe_comparison> compare(const bench_options& options, const bench_result& result,
                                       const std::optional<bench_result>& before) {
    if (options.baseline.empty()) return std::nullopt;
    auto made = before ? compare_with(result, *before, options.fail_over)
                       : compare_within(result, options.baseline, options.fail_over);
    if (!made) return base::fail(std::move(made.error()).during("--baseline"));
    return std::move(*made);
}

int report(const bench_options& options, const bench_result& result, const std::optional<bench_result>& before) {
    const auto comparison = compare(options, result, before);
    const maybe_comparison shown = comparison ? *comparison : std::nullopt;
    std::fputs(bench_table(result, shown).c_str(), stdout);
    for (const auto& [path, text] :
         {std::pair{options.json, to_json(result)}, std::pair{options.html, bench_page(result, shown)},
          std::pair{options.markdown, bench_markdown(result, shown)}}) {
        if (path.empty()) continue;
        if (auto done = write_text(path, text); !done) return failed(done.error());
    }
    if (!comparison) return refused(comparison.error());
    if (!shown || !shown->worse()) return 0;
    std::fputs(
        fmt::format("cotrain bench: worse than {} by more than {:.4g} %\n", shown->against, shown->fail_over * 100)
            .c_str(),
        stderr);
    return 1;
}

}  // namespace

int run_bench(arguments words) {
    auto options = read_bench_options(words);
    if (!options) return refused(options.error());
    if (options->help) {
        std::fputs(std::string(bench_help()).c_str(), stdout);
        return 0;
    }
    const auto before = prepare(*options);
    if (!before) return refused(before.error());
    asio::io_context loop(1);
    bench it(loop, *options);
    base::result<bench_result> result = base::fail(base::errc::internal, "nothing was measured");
    asio::co_spawn(loop, play(&it, &result), asio::detached);
    loop.run();
    if (!result) return failed(result.error());
    return report(*options, *result, *before);
}

}  // namespace cotrain::app
