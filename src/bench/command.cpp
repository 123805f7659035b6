// `cotrain bench`: repetitions in turn, and what becomes of their results.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "app/build_info.hpp"
#include "base/read_file.hpp"
#include "base/time.hpp"
#include "bench/figures.hpp"
#include "bench/formats.hpp"
#include "bench/options.hpp"
#include "bench/report.hpp"
#include "bench/run.hpp"
#include "kube/config.hpp"
#include "playground/private_file.hpp"

namespace cotrain::bench {

namespace {

constexpr std::size_t baseline_bytes_max = 64UL << 20U;

int failed(const base::error& why) {
    std::fputs(fmt::format("cotrain bench: {}\n", why.message).c_str(), stderr);
    return 3;
}

std::string describe_machine() {
    utsname is{};
    ::uname(&is);
    constexpr std::size_t cpuinfo_bytes_max = 4UL << 20U;
    constexpr std::string_view name = "model name\t: ";
    const std::string all = base::read_file("/proc/cpuinfo", cpuinfo_bytes_max).value_or(std::string());
    const std::size_t at = all.find(name);
    std::string processor;
    if (at != std::string::npos) processor = all.substr(at + name.size(), all.find('\n', at) - at - name.size());
    return fmt::format("{} {} {}, {} processors{}{}", is.sysname, is.release, is.machine,
                       ::sysconf(_SC_NPROCESSORS_ONLN), processor.empty() ? "" : ", ", processor);
}

int refused(const base::error& why) { return app::used_wrongly("bench: " + why.message); }

class bench {
   public:
    bench(asio::io_context& loop, bench_options options, scenario of)
        : loop_(loop), options_(std::move(options)), of_(std::move(of)), signals_(loop) {
        result_.load = describe(options_.load, of_.title);
        result_.server = options_.kubeconfig.empty() ? "embedded" : "of the kubeconfig";
        result_.version = app::version();
        result_.commit = app::commit();
        result_.machine = describe_machine();
        result_.date = base::format_time(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
        result_.words = options_.words;
        for (const bench_controller& each : options_.controllers)
            result_.controllers.push_back({.name = each.name, .command = each.command});
        latencies_.resize(options_.controllers.size());
    }

    // Why it ended before its time; what was measured until then stays.
    awaitable<base::result<>> perform() {
        playground::add_ending_signals(signals_);
        base::task_group listening(loop_.get_executor());
        listening.spawn("signals", listen());
        auto done = co_await repeat();
        over_ = true;
        signals_.cancel();
        co_await listening.join();
        for (std::size_t i = 0; i < latencies_.size(); ++i)
            result_.controllers[i].curve = distribution_curve(std::move(latencies_[i]));
        co_return done;
    }
    [[nodiscard]] const bench_result& result() const { return result_; }
    [[nodiscard]] bool measured() const {
        return std::ranges::any_of(result_.controllers, [](const auto& each) { return !each.metrics.empty(); });
    }

   private:
    // In turn, so that a slow minute of the machine is everybody's; every other time backwards, so that what one leaves
    // to the next on a real server is, too.
    awaitable<base::result<>> repeat() {
        const std::size_t all = options_.controllers.size();
        for (std::int64_t round = 0; round < options_.repetitions; ++round) {
            for (std::size_t turn = 0; turn < all; ++turn) {
                const std::size_t i = round % 2 == 0 ? turn : all - 1 - turn;
                tell(options_.controllers[i].name, round,
                     round * static_cast<std::int64_t>(all) + static_cast<std::int64_t>(turn));
                bench_run run(loop_, options_, of_, options_.controllers[i]);
                now_ = &run;
                auto measured = co_await run.perform();
                now_ = nullptr;
                if (!measured) co_return base::fail(std::move(measured.error()));
                take(i, std::move(*measured));
                if (stopped_) co_return base::fail(base::errc::canceled, "interrupted");
            }
        }
        if (::isatty(STDERR_FILENO) != 0) std::fputs("\r\x1b[K", stderr);
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

    // A line that replaces itself, where somebody watches; else a line for each round.
    void tell(std::string_view name, std::int64_t round, std::int64_t runs) const {
        const bool watched = ::isatty(STDERR_FILENO) != 0;
        const auto turn = runs % static_cast<std::int64_t>(options_.controllers.size());
        if (!watched && (runs == 0 || turn != 0)) return;
        const std::int64_t all = options_.repetitions * static_cast<std::int64_t>(options_.controllers.size());
        const auto passed = std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now() - begun_);
        const std::string left =
            runs == 0 ? std::string() : fmt::format(", {} s left", passed.count() * (all - runs) / runs);
        const std::string what = fmt::format("{} of {}{}{}{}", round + 1, options_.repetitions, watched ? ": " : "",
                                             watched ? name : std::string_view(), left);
        std::fputs((watched ? "\r\x1b[K" + what : "cotrain bench: repetition " + what + "\n").c_str(), stderr);
    }

    asio::io_context& loop_;
    bench_options options_;
    scenario of_;
    asio::signal_set signals_;
    bench_result result_;
    std::vector<std::vector<double>> latencies_;
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    bench_run* now_ = nullptr;
    bool stopped_ = false;
    bool over_ = false;
};

awaitable<void> play(bench* what, base::result<>* into) { *into = co_await what->perform(); }

// `how`: "w", or "a" for behind what is there.
base::result<> write_text(const std::string& path, std::string_view text, const char* how = "w") {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen(path.c_str(), how), std::fclose);
    const bool whole = out && std::fwrite(text.data(), 1, text.size(), out.get()) == text.size();
    if (!whole || std::fclose(out.release()) != 0) return base::fail(base::errc::invalid, "cannot write " + path);
    return {};
}

// What the options ask for. JobSets of a real server end when somebody ends them.
base::result<scenario> load_of(const bench_options& options) {
    if (options.scenario.empty()) {
        const bool played = options.kubeconfig.empty() && options.script.end != sim::player_script::ending::never;
        return train_job_scenario(options.load, played || options.complete, options.complete);
    }
    return read_scenario(options.scenario, options.crds);
}

// What is wrong with the files is to be known before the minutes that the measuring takes.
base::result<std::optional<bench_result>> prepare(const bench_options& options) {
    std::set<std::filesystem::path> files;
    for (const std::string* each :
         {&options.json, &options.html, &options.markdown, &options.benchstat, &options.github}) {
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
        const auto where = kube::find_config(kube::environment::of_process(), options.kubeconfig);
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
    auto text = base::read_file(options.baseline, baseline_bytes_max);
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
          std::pair{options.markdown, bench_markdown(result, shown)},
          std::pair{options.benchstat, to_benchstat(result)}, std::pair{options.github, to_github_benchmark(result)}}) {
        if (path.empty()) continue;
        if (auto done = write_text(path, text); !done) return failed(done.error());
    }
    if (const char* const summary = std::getenv("GITHUB_STEP_SUMMARY"); summary != nullptr && *summary != 0)
        if (auto done = write_text(summary, bench_markdown(result, shown), "a"); !done) return failed(done.error());
    if (!comparison) return refused(comparison.error());
    if (!shown || !shown->worse()) return 0;
    std::fputs(
        fmt::format("cotrain bench: worse than {} by more than {:.4g} %\n", shown->against, shown->fail_over * 100)
            .c_str(),
        stderr);
    return 1;
}

}  // namespace

int run_bench(app::arguments words) {
    auto options = read_bench_options(words);
    if (!options) return refused(options.error());
    if (options->help) {
        std::fputs(std::string(bench_help()).c_str(), stdout);
        return 0;
    }
    const auto before = prepare(*options);
    if (!before) return refused(before.error());
    auto load = load_of(*options);
    if (!load) return refused(load.error());
    asio::io_context loop(1);
    bench it(loop, *options, std::move(*load));
    base::result<> ended = base::fail(base::errc::internal, "nothing was measured");
    asio::co_spawn(loop, play(&it, &ended), asio::detached);
    loop.run();
    const int code = it.measured() ? report(*options, it.result(), *before) : 0;
    return ended ? code : failed(ended.error());
}

}  // namespace cotrain::bench
