// The inside of net::client: its connections, the requests that wait for one, deadlines and repeats.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "net/client.hpp"
#include "net/connection.hpp"
#include "net/exchange.hpp"

namespace cotrain::net {

struct client::impl final : connection::owner {
    impl(asio::any_io_executor executor, client_options given, base::logger& to);

    void start(const std::shared_ptr<exchange>& what);
    // Forgets a request nobody waits for any more; cancels its stream.
    void drop(exchange& what);
    // When its time is over; disarm() takes that back.
    void arm(exchange& what, time_point when);
    void disarm(exchange& what);
    [[nodiscard]] awaitable<void> stop();
    void replace_tls(std::shared_ptr<const tls::context> tls);
    void set_ping(std::chrono::milliseconds idle, std::chrono::milliseconds answer);
    [[nodiscard]] client_counters counters() const;

   private:
    void on_answer() override;
    void on_attempt_ended(ended_attempt attempt) override;
    void on_draining(connection& which) override;
    void on_trusted_again() override;
    void on_late(exchange& what) override;

    [[nodiscard]] connection* choose(priority rank);
    // True when `what` went to a connection or has failed for good.
    bool dispatch(const std::shared_ptr<exchange>& what);
    void enqueue(std::shared_ptr<exchange> what);
    void dispatch_waiting();
    [[nodiscard]] bool anyone_waiting() const;
    void fail(exchange& what, base::error why);

    [[nodiscard]] awaitable<void> keep_connected();
    [[nodiscard]] awaitable<base::result<>> establish();
    // How long reaching the peer may take.
    [[nodiscard]] std::chrono::milliseconds connect_patience() const;
    void connect_failed(const base::error& why);
    [[nodiscard]] awaitable<void> serve(std::shared_ptr<connection> link);
    [[nodiscard]] awaitable<void> feed(std::shared_ptr<connection> link);
    void forget(const connection& link);

    [[nodiscard]] awaitable<void> keep_time();
    time_point sweep(time_point now);
    void expire(exchange& what);
    void hedge(exchange& what, time_point now);
    void wake_at(time_point when);

    asio::any_io_executor executor_;
    client_options options_;
    base::logger& log_;
    std::string peer_;
    base::task_group tasks_;
    base::random_source random_ = base::random_source::from_system();
    base::backoff backoff_;
    std::vector<std::shared_ptr<connection>> connections_;
    std::array<std::deque<std::shared_ptr<exchange>>, 4> waiting_;  // by rank
    deadline_map deadlines_;
    base::signal wanted_;
    asio::steady_timer alarm_;
    time_point alarm_at_ = time_point::max();
    transport* shaking_ = nullptr;  // handshake under way …
    time_point shaking_until_{};    // … and its end
    std::string trouble_;           // why there is no connection; empty while all is well
    client_counters gone_;          // of connections that are no more
    bool unproven_ = false;         // no answer yet since the last connect: the next one backs off
    bool started_ = false;
    bool stopping_ = false;
};

}  // namespace cotrain::net
