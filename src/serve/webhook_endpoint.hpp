// The admission webhooks over HTTP: reviews in, reviews out, with what the ecosystem's dashboards count.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>

#include "admission/webhook.hpp"
#include "api/arena.hpp"
#include "base/asio.hpp"
#include "net/server.hpp"
#include "serve/exposition.hpp"
#include "serve/reply.hpp"
#include "serve/review_turns.hpp"

namespace cotrain::serve {

// Answers a review's questions about the cluster, from stores alone: whoever sends reviews makes nobody ask the API
// server.
class cluster_view {
   public:
    // What the answer refers to is kept in `memory`, which lives as long as the review.
    [[nodiscard]] virtual awaitable<admission::answer> look_up(admission::question what, api::arena* memory) = 0;

   protected:
    ~cluster_view() = default;
};

class webhook_endpoint {
   public:
    // The memory of reviews is claimed from `account`, which outlives this.
    webhook_endpoint(asio::any_io_executor executor, cluster_view& cluster, admission::gates open,
                     const net::memory_account& account);
    webhook_endpoint(const webhook_endpoint&) = delete;
    webhook_endpoint& operator=(const webhook_endpoint&) = delete;

    [[nodiscard]] awaitable<void> answer(net::incoming request);
    // controller_runtime_webhook_*.
    void write_metrics(exposition& to) const;

    // What a server for it needs: bounds of bodies, times.
    [[nodiscard]] static net::server_options server_options();

   private:
    struct hook_counts {
        std::map<int, std::uint64_t> by_code;
        std::int64_t in_flight = 0;
        serve::histogram latency{default_bounds};
    };
    [[nodiscard]] awaitable<reply> review(admission::hook which, net::incoming request);

    cluster_view& cluster_;
    review_turns turns_;
    std::size_t work_bytes_max_;  // of one review's documents
    admission::gates open_;
    plugins::builtin framework_;
    std::array<hook_counts, 4> counts_;
};

}  // namespace cotrain::serve
