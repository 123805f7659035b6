// Takes progress reports of training Pods and applies them to their TrainJobs, at a rate of its own.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"
#include "kube/limiter.hpp"
#include "net/server.hpp"
#include "serve/issuer_keys.hpp"
#include "serve/progress_report.hpp"
#include "serve/reply.hpp"
#include "serve/reporter.hpp"

namespace cotrain::serve {

class progress_endpoint {
   public:
    // How long a report may wait for its turn.
    static constexpr std::chrono::seconds turn_max{10};

    // Asks the operator's cache; nothing: there is no such TrainJob.
    using job_lookup = std::function<std::optional<known_job>(const reported_job&)>;

    progress_endpoint(kube::client& api, kube::rate_limit rate, job_lookup jobs, base::logger& log)
        : api_(api), keys_(api, log), rate_(rate), jobs_(std::move(jobs)), log_(log) {}

    [[nodiscard]] awaitable<void> answer(net::incoming request);
    // Ends waiting reports.
    void stop() { rate_.stop(); }

    [[nodiscard]] static net::server_options server_options();

   private:
    [[nodiscard]] awaitable<reply> judge(reported_job job, std::string credential, std::string body);
    [[nodiscard]] reply refuse(const reported_job& job, const base::error& why) const;
    [[nodiscard]] awaitable<reply> apply(reported_job job, progress_report report);

    kube::client& api_;
    issuer_keys keys_;
    kube::limiter rate_;
    job_rates rates_;
    job_lookup jobs_;
    base::logger& log_;
};

}  // namespace cotrain::serve
