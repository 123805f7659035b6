#include "bench/run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/figures.hpp"

namespace cotrain::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto look_pause = 50ms;
constexpr auto sample_pause = 50ms;

double own_cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double milliseconds(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); }

}  // namespace

std::chrono::nanoseconds due_of(const bench_load& load, std::int64_t place) {
    if (load.rate == 0) return {};
    return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(place) * 1e9 / load.rate));
}

bool churned(const bench_load& load, std::int64_t number) {
    return number * load.churn_percent / 100 != (number + 1) * load.churn_percent / 100;
}

bench_run::bench_run(asio::io_context& loop, const bench_options& options, const scenario& of, bench_controller who)
    : loop_(loop),
      options_(options),
      of_(of),
      who_(std::move(who)),
      wake_(loop),
      sampling_(loop),
      tasks_(loop.get_executor()) {}

void bench_run::cancel() {
    cancelled_ = true;
    wake_.cancel();
}

awaitable<base::result<bench_measured>> bench_run::perform() {
    auto done = co_await measure();
    sampling_.cancel();
    tasks_.cancel();
    co_await tasks_.join();
    if (child_) co_await child_->stop();
    if (target_) co_await target_->stop();
    if (!done) co_return base::fail(std::move(done.error()).during(who_.name));
    co_return std::move(out_);
}

awaitable<base::result<>> bench_run::begin() {
    if (auto done = dir_.make(); !done) co_return done;
    bench_events events{.done = [this](std::int64_t number) { seen_done(number); },
                        .ended = [this](std::int64_t number) { seen_end(number); },
                        .updated = [this](std::int64_t number) { seen_next(number); },
                        .gone = [this](std::int64_t number) { seen_next(number); },
                        .first_write =
                            [this] {
                                if (child_) out_.metrics["first_apply_ms"] = milliseconds(clock::now() - exec_);
                            },
                        .own_time =
                            [this](std::chrono::nanoseconds time) {
                                if (counting_) own_ms_.push_back(milliseconds(time));
                            },
                        .failed = [this](std::string why) { note_failure(base::fail(base::errc::internal, why)); }};
    target_ = options_.kubeconfig.empty() ? make_box_target(loop_, options_, of_, dir_.path(), std::move(events))
                                          : make_live_target(loop_, options_, of_, std::move(events));
    if (auto done = co_await target_->start(); !done) co_return done;
    base::result<bench_words> words = who_.command.empty()
                                          ? own_words(target_->kubeconfig(), dir_.path())
                                          : shell_words(fill_command(who_.command, target_->kubeconfig(), dir_.path()));
    if (!words) co_return base::fail(std::move(words.error()));
    words_ = std::move(*words);
    // The first object is there before the controller is.
    objects_.emplace_back();
    if (auto done = co_await target_->make(0); !done) co_return done;
    co_return co_await start_controller("start_ms", 0);
}

awaitable<base::result<>> bench_run::start_controller(std::string metric, std::int64_t number) {
    auto made = bench_child::start(words_, target_->kubeconfig(), dir_.path());
    if (!made) co_return base::fail(std::move(made.error()));
    child_ = std::move(*made);
    exec_ = child_->began();
    auto done = co_await until(&done_, number + 1);
    if (done) out_.metrics[metric] = milliseconds(last_seen_ - exec_);
    co_return done;
}

awaitable<base::result<>> bench_run::restart_controller() {
    co_await child_->stop();
    child_.reset();
    const auto number = static_cast<std::int64_t>(objects_.size());
    objects_.push_back({.removed = true});
    if (auto done = co_await target_->make(number); !done) co_return done;
    co_return co_await start_controller("restart_ms", number);
}

awaitable<base::result<>> bench_run::measure() {
    if (auto done = co_await begin(); !done) co_return done;
    if (auto done = co_await make_objects(options_.load.warm_up); !done) co_return done;
    static_cast<void>(target_->take_traffic());
    first_counted_ = static_cast<std::int64_t>(objects_.size());
    const bench_usage before = child_->usage();
    const double own_before = own_cpu_seconds();
    counting_ = true;
    begun_ = clock::now();
    tasks_.spawn("samples", take_samples());
    if (auto done = co_await make_objects(options_.load.jobs); !done) co_return done;
    summarise(before, own_before);
    counting_ = false;
    sampling_.cancel();
    if (!of_.update.empty())
        if (auto done = co_await next_phase("update", &bench_run::update_one); !done) co_return done;
    auto traffic = target_->take_traffic();
    if (auto done = co_await restart_controller(); !done) co_return done;
    static_cast<void>(target_->take_traffic());
    if (of_.removes)
        if (auto done = co_await next_phase("remove", &bench_run::remove_one); !done) co_return done;
    summarise_traffic(std::move(traffic));
    co_return base::result<>{};
}

awaitable<base::result<>> bench_run::make_objects(std::int64_t count) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), static_cast<std::int64_t>(objects_.size()));
    objects_.resize(objects_.size() + numbers.size());
    if (auto done = co_await pace(std::move(numbers), &done_, &bench_run::make_one); !done) co_return done;
    const auto all = static_cast<std::int64_t>(objects_.size());
    if (auto done = co_await until(&done_, all); !done || !of_.ends) co_return done;
    co_return co_await until(&ends_, all);
}

awaitable<base::result<>> bench_run::next_phase(std::string name, one_of what) {
    std::vector<std::int64_t> numbers;
    for (auto n = first_counted_; n < static_cast<std::int64_t>(objects_.size()); ++n)
        if (!objects_[static_cast<std::size_t>(n)].removed) numbers.push_back(n);
    next_ms_.clear();
    next_done_ = 0;
    const auto count = static_cast<std::int64_t>(numbers.size());
    if (auto done = co_await pace(std::move(numbers), &next_done_, what); !done) co_return done;
    if (auto done = co_await until(&next_done_, count); !done || count == 0) co_return done;
    std::ranges::sort(next_ms_);
    out_.metrics[name + "_p50_ms"] = quantile(next_ms_, 0.5);
    out_.metrics[name + "_p99_ms"] = quantile(next_ms_, 0.99);
    co_return base::result<>{};
}

awaitable<base::result<>> bench_run::pace(std::vector<std::int64_t> numbers, const std::int64_t* finished,
                                          one_of what) {
    const bool burst = options_.load.rate == 0;
    const auto begun = clock::now();
    auto last_progress = begun;
    const std::int64_t before = *finished;
    std::int64_t last_seen = before;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(numbers.size());) {
        if (std::exchange(last_seen, *finished) != *finished) last_progress = clock::now();
        if (auto fine = still_fine(burst ? last_progress : clock::now()); !fine) co_return fine;
        const auto due = burst ? clock::now() : begun + due_of(options_.load, i);
        if (burst && i - (*finished - before) >= options_.load.in_flight) {
            co_await wait(clock::now() + look_pause);
            continue;
        }
        if (due > clock::now()) {
            co_await wait(std::min(due, clock::now() + look_pause));
            continue;
        }
        const std::int64_t number = numbers[static_cast<std::size_t>(i++)];
        objects_[static_cast<std::size_t>(number)].due = due;
        tasks_.spawn("an object", (this->*what)(number));
    }
    co_return base::result<>{};
}

void bench_run::note_failure(base::result<> done) {
    if (done || !trouble_.empty()) return;
    trouble_ = std::move(done.error().message);
    wake_.cancel();
}

awaitable<void> bench_run::make_one(std::int64_t number) { note_failure(co_await target_->make(number)); }

awaitable<void> bench_run::update_one(std::int64_t number) { note_failure(co_await target_->update(number)); }

awaitable<void> bench_run::remove_one(std::int64_t number) {
    objects_[static_cast<std::size_t>(number)].removed = true;
    note_failure(co_await target_->remove(number));
}

awaitable<void> bench_run::churn_one(std::int64_t number) {
    // Not from inside of the event that told that it is done.
    asio::steady_timer turn(loop_, clock::now());
    co_await turn.async_wait(use_tuple);
    co_await remove_one(number);
    seen_end(number);
}

base::result<> bench_run::still_fine(clock::time_point last_progress) {
    if (cancelled_) return base::fail(base::errc::canceled, "interrupted");
    if (!trouble_.empty()) return base::fail(base::errc::internal, trouble_);
    if (child_ && !child_->alive())
        return base::fail(base::errc::internal, "the controller ended with " + child_->ending());
    if (clock::now() - last_progress < bench_patience) return {};
    const std::string said = child_ ? child_->last_line() : std::string{};
    return base::fail(base::errc::deadline,
                      fmt::format("nothing happened for {} s: {}{}{}", bench_patience.count(), what_is_missing(),
                                  said.empty() ? "" : "; the controller said last: ", said));
}

std::string bench_run::what_is_missing() const {
    std::string out = fmt::format("of {} objects {} are done", objects_.size(), done_);
    if (of_.ends) out += fmt::format(", {} ended", ends_);
    const auto late =
        std::ranges::find_if(objects_, [&](const object& each) { return !each.done || (of_.ends && !each.ended); });
    if (late != objects_.end()) out += fmt::format("; the first that is not: {}", of_.name.of(late - objects_.begin()));
    if (of_.train_jobs && done_ == static_cast<std::int64_t>(objects_.size()))
        out += "; for a controller that ends none there is --script never";
    return out;
}

awaitable<base::result<>> bench_run::until(const std::int64_t* counter, std::int64_t count) {
    auto last_progress = clock::now();
    std::int64_t last = -1;
    while (*counter < count) {
        if (std::exchange(last, *counter) != *counter) last_progress = clock::now();
        if (auto fine = still_fine(last_progress); !fine) co_return fine;
        co_await wait(clock::now() + look_pause);
    }
    co_return base::result<>{};
}

awaitable<void> bench_run::wait(clock::time_point end) {
    wake_.expires_at(end);
    co_await wake_.async_wait(use_tuple);
}

bench_run::object* bench_run::known(std::int64_t number) {
    const bool is = number >= 0 && number < static_cast<std::int64_t>(objects_.size());
    return is ? &objects_[static_cast<std::size_t>(number)] : nullptr;
}

void bench_run::seen_done(std::int64_t number) {
    object* const of = known(number);
    if (of == nullptr || std::exchange(of->done, true)) return;
    ++done_;
    last_seen_ = clock::now();
    if (counting_) out_.latencies_ms.push_back(milliseconds(last_seen_ - of->due));
    if (number > 0 && churned(options_.load, number)) tasks_.spawn("churn", churn_one(number));
    wake_.cancel();
}

void bench_run::seen_end(std::int64_t number) {
    object* const of = known(number);
    if (of == nullptr || std::exchange(of->ended, true)) return;
    ++ends_;
    wake_.cancel();
}

void bench_run::seen_next(std::int64_t number) {
    const object* const of = known(number);
    if (of == nullptr || counting_) return;
    next_ms_.push_back(milliseconds(clock::now() - of->due));
    ++next_done_;
    wake_.cancel();
}

awaitable<void> bench_run::take_samples() {
    auto pause = sample_pause;
    const bench_usage before = child_->usage();
    for (;;) {
        const bench_usage now = child_->usage();
        out_.samples.push_back({std::chrono::duration<double>(clock::now() - begun_).count(),
                                now.cpu_seconds - before.cpu_seconds, now.resident_mib,
                                static_cast<std::uint64_t>(out_.latencies_ms.size())});
        if (out_.samples.size() >= bench_samples_max) {
            std::size_t kept = 0;
            for (std::size_t i = 0; i < out_.samples.size(); i += 2) out_.samples[kept++] = out_.samples[i];
            out_.samples.resize(kept);
            pause *= 2;
        }
        sampling_.expires_after(pause);
        if (const auto [error] = co_await sampling_.async_wait(use_tuple); error) co_return;
    }
}

void bench_run::summarise(const bench_usage& before, double own_before) {
    const bench_usage after = child_->usage();
    const auto jobs = static_cast<double>(options_.load.jobs);
    out_.samples.push_back({std::chrono::duration<double>(clock::now() - begun_).count(),
                            after.cpu_seconds - before.cpu_seconds, after.resident_mib,
                            static_cast<std::uint64_t>(out_.latencies_ms.size())});
    std::vector<double> sorted = out_.latencies_ms;
    std::ranges::sort(sorted);
    auto& to = out_.metrics;
    to["p50_ms"] = quantile(sorted, 0.5);
    to["p90_ms"] = quantile(sorted, 0.9);
    to["p99_ms"] = quantile(sorted, 0.99);
    to["p999_ms"] = quantile(sorted, 0.999);
    if (!own_ms_.empty()) {
        std::ranges::sort(own_ms_);
        to["own_p50_ms"] = quantile(own_ms_, 0.5);
        to["own_p99_ms"] = quantile(own_ms_, 0.99);
    }
    to["jobs_per_second"] = jobs / std::chrono::duration<double>(last_seen_ - begun_).count();
    to["cpu_ms_per_job"] = (after.cpu_seconds - before.cpu_seconds) * 1e3 / jobs;
    to["bench_cpu_ms_per_job"] = (own_cpu_seconds() - own_before) * 1e3 / jobs;
    to["resident_idle_mib"] = before.resident_mib;
    to["resident_peak_mib"] = std::ranges::max(out_.samples, {}, &bench_sample::resident_mib).resident_mib;
}

void bench_run::summarise_traffic(std::map<std::string, bench_traffic> rest) {
    auto& to = out_.metrics;
    const auto jobs = static_cast<double>(options_.load.jobs);
    out_.traffic = target_->take_traffic();
    for (const auto& [what, row] : rest) out_.traffic[what] += row;
    if (out_.traffic.empty()) return;
    bench_traffic sum;
    for (const auto& [what, row] : out_.traffic) sum += row;
    to["requests_per_job"] = static_cast<double>(sum.requests) / jobs;
    to["bytes_sent_per_job"] = static_cast<double>(sum.bytes_sent) / jobs;
    to["bytes_received_per_job"] = static_cast<double>(sum.bytes_received) / jobs;
    to["conflicts_per_job"] = static_cast<double>(sum.conflicts) / jobs;
    to["unchanged_per_job"] = static_cast<double>(sum.unchanged) / jobs;
}

}  // namespace cotrain::bench
