// The API server of a bench: where TrainJobs are made and JobSets are seen, embedded or real.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/asio.hpp"
#include "bench/figures.hpp"
#include "bench/options.hpp"

namespace cotrain::bench {

// What is seen of the job of that number.
struct bench_events {
    std::function<void(std::int64_t)> job_set;  // its JobSet exists
    // Not on a real server: the first object for the first job exists; and how much of the time until a job's JobSet
    // the server did not have a request of that job in its hands.
    std::function<void()> first_apply;
    std::function<void(std::chrono::nanoseconds)> own_time;
    std::function<void(std::int64_t)> ended;  // it is Complete or Failed
    std::function<void(std::string)> failed;  // nothing will be seen any more
};

class bench_target {
   public:
    virtual ~bench_target() = default;
    // Ready for jobs, with the runtime that they use.
    [[nodiscard]] virtual awaitable<base::result<>> start() = 0;
    [[nodiscard]] virtual awaitable<base::result<>> make_job(std::int64_t number) = 0;
    [[nodiscard]] virtual awaitable<base::result<>> remove_job(std::int64_t number) = 0;
    // Where a controller finds it.
    [[nodiscard]] virtual std::string kubeconfig() const = 0;
    // Whether jobs end here, without anybody's help.
    [[nodiscard]] virtual bool jobs_end() const = 0;
    // The controller's requests since the last call; empty if the server cannot tell.
    [[nodiscard]] virtual std::map<std::string, bench_traffic> take_traffic() = 0;
    [[nodiscard]] virtual awaitable<void> stop() = 0;
};

// The kubeconfig of the embedded one is written into `dir`.
[[nodiscard]] std::unique_ptr<bench_target> make_box_target(asio::io_context& loop, const bench_options& options,
                                                            std::string dir, bench_events to);
[[nodiscard]] std::unique_ptr<bench_target> make_live_target(asio::io_context& loop, const bench_options& options,
                                                             bench_events to);

// What both make, as JSON.
inline constexpr std::string_view bench_runtime_name = "bench";
[[nodiscard]] std::string bench_runtime(const bench_load& load);
[[nodiscard]] std::string bench_job_name(std::int64_t number);
[[nodiscard]] std::string bench_job(const bench_load& load, std::int64_t number);
// The number of a name; -1 if it is none of ours.
[[nodiscard]] std::int64_t bench_job_number(std::string_view name);
// The same of a request's path: the job whose object, or whose child, it is about.
[[nodiscard]] std::int64_t bench_job_of_path(std::string_view path);

}  // namespace cotrain::bench
