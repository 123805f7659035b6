#include "bench/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/encoding.hpp"

namespace cotrain::bench {

using app::option;

namespace {

constexpr double rate_max = 100'000;

std::unexpected<base::error> wrong(std::string_view what) { return base::fail(base::errc::invalid, std::string(what)); }

base::result<double> read_decimal(std::string_view text, std::string_view wanted) {
    double out = 0;
    const auto [end, error] = base::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(out) || out < 0)
        return wrong(fmt::format("'{}' is not {}", text, wanted));
    return out;
}

base::result<> read_count(std::string_view text, std::int64_t least, std::int64_t most, std::int64_t& into) {
    std::int64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size() || out < least || out > most)
        return wrong(fmt::format("'{}' is no number from {} to {}", text, least, most));
    into = out;
    return {};
}

base::result<> read_percent(std::string_view text, double& into) {
    if (text.ends_with('%')) text.remove_suffix(1);
    auto value = read_decimal(text, "a percentage such as 10%");
    if (!value) return base::fail(std::move(value.error()));
    into = *value / 100;
    return {};
}

base::result<double> read_seconds(std::string_view text) {
    const bool minutes = text.ends_with('m');
    if (text.ends_with('s') || minutes) text.remove_suffix(1);
    auto value = read_decimal(text, "a time such as 30s or 5m");
    if (value && (*value <= 0 || *value > 86'400)) return wrong("the time must be above 0 and at most a day");
    return value ? base::result<double>(*value * (minutes ? 60 : 1)) : std::move(value);
}

base::result<> read_rate(std::string_view text, bench_load& into) {
    if (text == "burst") {
        into.rate = 0;
        return {};
    }
    auto rate = read_decimal(text, "a number of jobs a second, or 'burst'");
    if (!rate) return base::fail(std::move(rate.error()));
    if (*rate < 0.01 || *rate > rate_max)
        return wrong(fmt::format("{} is out of range: 0.01 to {}, or 'burst'", text, rate_max));
    into.rate = *rate;
    return {};
}

base::result<> read_policy(std::string_view text, bench_load& into) {
    for (const bench_policy each : {bench_policy::torch, bench_policy::mpi, bench_policy::plain}) {
        if (text != to_string(each)) continue;
        into.policy = each;
        return {};
    }
    return wrong(fmt::format("'{}' is none of torch, mpi, plain", text));
}

// Whether the text before '=' can be a name: commands have '=' as well.
bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= 40 && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
}

base::result<> read_controller(std::string_view text, bench_options& into, std::string_view name = {}) {
    bench_controller made;
    const std::size_t sign = text.find('=');
    const bool named = sign != std::string_view::npos && is_name(text.substr(0, sign));
    made.command = named ? text.substr(sign + 1) : text;
    if (named) made.name = text.substr(0, sign);
    // Its own name alone means ours, however it is called.
    if (made.command == "cotrain") made.command.clear();
    if (made.command.find_first_not_of(" \t") == std::string::npos && !made.command.empty())
        return wrong("the command is empty");
    if (text.empty() || (named && text.size() == sign + 1)) return wrong("the command is empty");
    if (!named && !name.empty())
        made.name = name;
    else if (!named)
        made.name = made.command.empty() ? "cotrain" : fmt::format("controller-{}", into.controllers.size() + 1);
    if (into.controllers.size() == bench_controllers_max)
        return wrong(fmt::format("at most {} of them", bench_controllers_max));
    for (const bench_controller& each : into.controllers)
        if (each.name == made.name) return wrong(fmt::format("two are called '{}'", made.name));
    into.controllers.push_back(std::move(made));
    return {};
}

struct reading {
    bench_options out{};
    std::optional<double> duration{};
    bool jobs_given = false;
    std::string_view only_train_jobs{};  // an option that is given and has no meaning for other objects
    bool limit_given = false;
};

option file_option(std::string_view name, std::string& to) {
    return {name, [&to](std::string_view value) -> base::result<> {
                if (value.empty()) return wrong("needs the name of a file");
                to = value;
                return {};
            }};
}

option count_option(std::string_view name, std::int64_t& to, std::int64_t least, std::int64_t most) {
    return {name, [&to, least, most](std::string_view value) { return read_count(value, least, most, to); }};
}

base::result<> read_churn(std::string_view value, bench_load& into) {
    double share = 0;
    if (auto done = read_percent(value, share); !done) return done;
    if (share > 1) return wrong("at most 100%");
    into.churn_percent = std::lround(share * 100);
    return {};
}

base::result<> read_player(std::string_view value, bench_options& into) {
    auto script = sim::read_script(value, into.script);
    if (!script) return base::fail(std::move(script.error()));
    into.script = *script;
    return {};
}

std::vector<option> table_of(reading& to) {
    bench_options& out = to.out;
    bench_load& load = out.load;
    return {{"--nodes",
             [&](std::string_view value) {
                 to.only_train_jobs = "--nodes";
                 return read_count(value, 1, bench_nodes_max, load.nodes);
             }},
            file_option("--scenario", out.scenario),
            {"--crds",
             [&](std::string_view value) -> base::result<> {
                 out.crds.emplace_back(value);
                 return {};
             }},
            count_option("--in-flight", load.in_flight, 1, bench_jobs_max),
            count_option("--warm-up", load.warm_up, 0, bench_jobs_max),
            count_option("--repetitions", out.repetitions, 1, bench_repetitions_max),
            file_option("--json", out.json),
            file_option("--html", out.html),
            file_option("--markdown", out.markdown),
            file_option("--benchstat", out.benchstat),
            file_option("--github-benchmark", out.github),
            file_option("--kubeconfig", out.kubeconfig),
            file_option("--baseline", out.baseline),
            app::switch_option("--complete", out.complete),
            {"--jobs",
             [&](std::string_view value) {
                 to.jobs_given = true;
                 return read_count(value, 1, bench_jobs_max, load.jobs);
             }},
            {"--duration",
             [&](std::string_view value) -> base::result<> {
                 auto seconds = read_seconds(value);
                 if (!seconds) return base::fail(std::move(seconds.error()));
                 to.duration = *seconds;
                 return {};
             }},
            {"--fail-over",
             [&](std::string_view value) {
                 to.limit_given = true;
                 return read_percent(value, out.fail_over);
             }},
            {"--rate", [&](std::string_view value) { return read_rate(value, load); }},
            {"--policy",
             [&](std::string_view value) {
                 to.only_train_jobs = "--policy";
                 return read_policy(value, load);
             }},
            {"--controller", [&](std::string_view value) { return read_controller(value, out); }},
            {"--baseline-controller",
             [&](std::string_view value) {
                 auto done = read_controller(value, out, "baseline");
                 if (done) out.baseline = out.controllers.back().name;
                 return done;
             }},
            {"--churn", [&](std::string_view value) { return read_churn(value, load); }},
            {"--script", [&](std::string_view value) {
                 to.only_train_jobs = "--script";
                 return read_player(value, out);
             }}};
}

base::result<bench_options> finish(reading from) {
    bench_options& out = from.out;
    if (from.duration) {
        if (from.jobs_given) return wrong("--duration: give it or --jobs, not both");
        if (out.load.rate == 0) return wrong("--duration: a burst has none: give --jobs, or a --rate");
        const double jobs = std::ceil(*from.duration * out.load.rate);
        if (jobs > static_cast<double>(bench_jobs_max))
            return wrong(fmt::format("--duration: that makes {:.0f} jobs, the limit is {}", jobs, bench_jobs_max));
        out.load.jobs = static_cast<std::int64_t>(jobs);
    }
    if (out.complete && out.kubeconfig.empty())
        return wrong("--complete: is for a real API server; the embedded one plays JobSets, see --script");
    if (out.complete) from.only_train_jobs = "--complete";
    if (!out.scenario.empty() && !from.only_train_jobs.empty())
        return wrong(fmt::format("{}: is for TrainJobs; a scenario says what there is", from.only_train_jobs));
    if (out.scenario.empty() && !out.crds.empty()) return wrong("--crds: is for a --scenario");
    if (!out.scenario.empty() && out.controllers.empty())
        return wrong("--scenario: of which controller? --controller says it");
    if (from.limit_given && out.baseline.empty()) return wrong("--fail-over: over what? --baseline says it");
    if (out.controllers.empty()) out.controllers.push_back({.name = "cotrain", .command = {}});
    return std::move(out);
}

}  // namespace

std::string_view to_string(bench_policy policy) {
    switch (policy) {
        case bench_policy::torch: return "torch";
        case bench_policy::mpi: return "mpi";
        case bench_policy::plain: return "plain";
    }
    return "";
}

std::string describe(const bench_load& load, std::string_view title) {
    std::string out = fmt::format("{} {}, ", load.jobs, title);
    out += load.rate == 0 ? fmt::format("a burst with {} in flight", load.in_flight)
                          : fmt::format("{} a second", load.rate);
    if (load.churn_percent > 0) out += fmt::format(", {} % deleted again", load.churn_percent);
    return out;
}

std::string_view bench_help() {
    return "usage: cotrain bench [options]\n\n"
           "Creates TrainJobs, or what a scenario says, and measures how long until the controller is done with each, "
           "and\n"
           "what that takes: of our operator or of any controller, each as a process of its own, on an API server in "
           "this\n"
           "process or on a real one.\n\n"
           "  --scenario FILE     other objects than TrainJobs: definitions, a template, when one is done "
           "(docs/bench-in-ci.md)\n"
           "  --controller [NAME=]COMMAND  what to measure (default: cotrain, our operator). Repeat it to compare: "
           "they\n"
           "                      take turns. The command is for sh; {kubeconfig} in it is replaced, {dir} becomes a\n"
           "                      directory that is removed with the run, {port} a free one; KUBECONFIG is set as "
           "well\n"
           "  --crds PATH         a file or folder with definitions for it, as often as needed\n"
           "  --jobs N            objects of each repetition (1000), or --duration TIME: as many as the rate makes in "
           "it\n"
           "  --nodes N           of each job (4)\n"
           "  --policy NAME       torch, mpi or plain (torch)\n"
           "  --rate N            jobs a second (100). The clock of a job starts when it was due, so that a slow\n"
           "                      controller cannot slow down what it is asked. 'burst': as fast as it goes,\n"
           "                      with --in-flight N jobs that have no JobSet yet (64)\n"
           "  --churn N%          so many jobs are deleted as soon as they have their JobSet (0%)\n"
           "  --warm-up N         jobs before those that count (50)\n"
           "  --repetitions N     each with a new controller and a new server (6; from 4 on results can be compared)\n"
           "  --script TEXT       how JobSets fare on the server in this process, see cotrain playground\n"
           "                      (\"start 50ms, ready 100ms, run 500ms, succeed, no-pods\")\n"
           "  --kubeconfig FILE   a real API server; what is made there is removed again\n"
           "  --complete          on a real one: says that JobSets are completed, where no JobSet controller runs\n\n"
           "  --json FILE         everything, also for --baseline\n"
           "  --html FILE         one page with plots\n"
           "  --markdown FILE     for a comment on a pull request\n"
           "  --benchstat FILE    in Go's format of benchmarks, for benchstat -col /controller\n"
           "  --github-benchmark FILE  for github-action-benchmark (customSmallerIsBetter)\n"
           "  --baseline-controller [NAME=]COMMAND  as --controller, and what the others are compared with\n"
           "  --baseline WHAT     the JSON of an earlier run, or the name of a controller of this one\n"
           "  --fail-over N%      exit code 1 if it is sure (95 %) that something got worse by more than that (10%)\n\n"
           "In a pipeline of GitHub the Markdown also goes to $GITHUB_STEP_SUMMARY. An interrupted run keeps what it "
           "has.\n"
           "Exit codes: 0 done, 1 worse than the baseline, 2 used wrongly, 3 a controller failed or the run was "
           "interrupted.\n";
}

std::vector<app::option_word> option_words() {
    reading none;
    return app::words_of(table_of(none));
}

base::result<bench_options> read_bench_options(app::arguments words) {
    reading from;
    if (app::asks_for_help(words)) {
        from.out.help = true;
        return from.out;
    }
    for (const std::string_view each : words) from.out.words.emplace_back(each);
    if (auto read = app::read_options(words, table_of(from)); !read) return base::fail(std::move(read.error()));
    return finish(std::move(from));
}

}  // namespace cotrain::bench
