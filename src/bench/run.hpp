// One repetition of a bench: a new server, a new controller, jobs, and what was measured.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "bench/child.hpp"
#include "bench/figures.hpp"
#include "bench/options.hpp"
#include "bench/scenario.hpp"
#include "bench/target.hpp"

namespace cotrain::bench {

// Without any progress for so long, a repetition has failed.
inline constexpr std::chrono::seconds bench_patience{60};
// Samples kept; with more of them every other one goes.
inline constexpr std::size_t bench_samples_max = 400;

struct bench_measured {
    std::map<std::string, double, std::less<>> metrics;
    std::vector<double> latencies_ms;
    std::vector<bench_sample> samples;
    std::map<std::string, bench_traffic> traffic;
};

// When the job of that place is due, from the first one on.
[[nodiscard]] std::chrono::nanoseconds due_of(const bench_load& load, std::int64_t place);
// Whether churn takes that job: so many of each hundred, evenly.
[[nodiscard]] bool churned(const bench_load& load, std::int64_t number);

class bench_run {
   public:
    using clock = std::chrono::steady_clock;

    // The scenario must outlive it.
    bench_run(asio::io_context& loop, const bench_options& options, const scenario& of, bench_controller who);
    // Everything it started has ended when it returns.
    [[nodiscard]] awaitable<base::result<bench_measured>> perform();
    void cancel();

   private:
    struct object {
        clock::time_point due{};
        bool done = false;
        bool ended = false;
        bool removed = false;
    };
    using one_of = awaitable<void> (bench_run::*)(std::int64_t number);

    [[nodiscard]] awaitable<base::result<>> measure();
    [[nodiscard]] awaitable<base::result<>> begin();
    // Until the object of that number is done; the metric is how long it took.
    [[nodiscard]] awaitable<base::result<>> start_controller(std::string metric, std::int64_t number);
    // Ends the controller and starts it beside all that it made; an object that came meanwhile tells when it works.
    [[nodiscard]] awaitable<base::result<>> restart_controller();
    // Makes objects at their times and waits until they are as far as wanted.
    [[nodiscard]] awaitable<base::result<>> make_objects(std::int64_t count);
    // Changes or removes those that count, and waits for what the controller makes of it.
    [[nodiscard]] awaitable<base::result<>> next_phase(std::string name, one_of what);
    // Does something to each at its time; `finished` counts those of which the controller is done with it.
    [[nodiscard]] awaitable<base::result<>> pace(std::vector<std::int64_t> numbers, const std::int64_t* finished,
                                                 one_of what);
    [[nodiscard]] awaitable<void> make_one(std::int64_t number);
    [[nodiscard]] awaitable<void> update_one(std::int64_t number);
    [[nodiscard]] awaitable<void> remove_one(std::int64_t number);
    [[nodiscard]] awaitable<void> churn_one(std::int64_t number);
    void note_failure(base::result<> done);
    [[nodiscard]] awaitable<base::result<>> until(const std::int64_t* counter, std::int64_t count);
    // Sleeps until then, or until something happens.
    [[nodiscard]] awaitable<void> wait(clock::time_point end);
    [[nodiscard]] awaitable<void> take_samples();
    [[nodiscard]] base::result<> still_fine(clock::time_point last_progress);
    [[nodiscard]] std::string what_is_missing() const;
    [[nodiscard]] object* known(std::int64_t number);
    void seen_done(std::int64_t number);
    void seen_end(std::int64_t number);
    void seen_next(std::int64_t number);
    void summarise(const bench_usage& before, double own_before);
    void summarise_traffic(std::map<std::string, bench_traffic> rest);

    asio::io_context& loop_;
    bench_options options_;
    const scenario& of_;
    bench_controller who_;
    temporary_directory dir_;
    std::unique_ptr<bench_target> target_;
    bench_words words_;
    std::unique_ptr<bench_child> child_;
    asio::steady_timer wake_;
    asio::steady_timer sampling_;
    base::task_group tasks_;
    std::vector<object> objects_;
    std::int64_t first_counted_ = 0;
    std::int64_t done_ = 0, ends_ = 0;
    std::vector<double> next_ms_{};  // of the phase after the first
    std::int64_t next_done_ = 0;
    clock::time_point begun_{}, last_seen_{}, exec_{};
    bool counting_ = false;
    std::string trouble_;
    bool cancelled_ = false;
    std::vector<double> own_ms_;
    bench_measured out_;
};

}  // namespace cotrain::bench
