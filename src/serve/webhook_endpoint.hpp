// The admission webhooks over HTTP: whose turn it is, and answers.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "admission/webhook.hpp"
#include "base/asio.hpp"
#include "base/signal.hpp"
#include "doc/arena.hpp"
#include "net/server.hpp"
#include "serve/exposition.hpp"
#include "serve/reply.hpp"

namespace cotrain::serve {

// Which review is worked on next, and how many before everybody else on the event loop gets a turn.

// In one turn of the loop small reviews are begun until they make `turn_bytes` together, or one large review is. Of
// large ones there is one at a time; where both wait, turns alternate. Within each kind who came first goes first.
class review_turns {
   public:
    // A review above this size is a large one.
    static constexpr std::size_t small_bytes_max = 256U << 10U;
    static constexpr std::size_t turn_bytes = 256U << 10U;

    explicit review_turns(asio::any_io_executor executor) : executor_(std::move(executor)) {}
    ~review_turns() { *alive_ = false; }
    review_turns(const review_turns&) = delete;
    review_turns& operator=(const review_turns&) = delete;

    // The right to work on a review, until it goes.
    class turn {
       public:
        turn() = default;
        turn(review_turns& of, bool large) : of_(&of), large_(large) {}
        turn(turn&& other) noexcept : of_(std::exchange(other.of_, nullptr)), large_(other.large_) {}
        turn& operator=(turn&&) = delete;
        ~turn() {
            if (of_ != nullptr && large_) of_->end_large();
        }
        // False when the wait for it was cancelled.
        [[nodiscard]] bool granted() const { return of_ != nullptr; }

       private:
        review_turns* of_ = nullptr;
        bool large_ = false;
    };
    // Gives the right at once where that keeps the rules. What it gives goes before this does.
    [[nodiscard]] awaitable<turn> begin(std::size_t bytes);

    [[nodiscard]] std::size_t waiting() const { return small_.size() + large_.size(); }

   private:
    struct waiter {
        std::size_t bytes;
        bool granted = false;
        base::signal go{};
    };
    using queue = std::list<waiter*>;

    [[nodiscard]] bool free_for(std::size_t bytes) const;
    void take(std::size_t bytes);
    void grant_first(queue& of);
    void grant();
    void end_large();
    // Has grant() called when everybody else had a turn.
    void go_on_later();

    asio::any_io_executor executor_;
    queue small_;
    queue large_;
    std::size_t taken_ = 0;        // in this turn
    bool large_begun_ = false;     // one is being worked on
    bool large_was_last_ = false;  // in the turn before
    bool going_on_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The admission webhooks over HTTP: reviews in, reviews out, with what the ecosystem's dashboards count.

// Answers a review's questions about the cluster, from stores alone: a client that sends reviews causes no requests to
// the API server.
class cluster_view {
   public:
    // What the answer refers to is kept in `memory`, which lives as long as the review.
    [[nodiscard]] virtual awaitable<admission::answer> look_up(admission::question what, doc::arena* memory) = 0;

   protected:
    ~cluster_view() = default;
};

class webhook_endpoint {
   public:
    // The memory of reviews is claimed from `account`, which outlives this.
    webhook_endpoint(asio::any_io_executor executor, cluster_view& cluster, runtime::plugins plugins,
                     admission::gates open, const net::memory_account& account);
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
    runtime::plugins plugins_;
    std::array<hook_counts, 4> counts_;
};

}  // namespace cotrain::serve
