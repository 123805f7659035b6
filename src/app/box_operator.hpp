// Our operator beside a box, on the same event loop: its own connection, its webhooks registered and called.
#pragma once

#include <memory>
#include <string>

#include "app/box.hpp"
#include "app/operator.hpp"

namespace cotrain::app {

class box_operator {
   public:
    box_operator(asio::io_context& loop, box& at, base::logger& log);
    ~box_operator();

    // The client's configuration can be wrong only by a bug.
    [[nodiscard]] base::result<> start();
    // In sync, and reached by the box's webhook configurations.
    [[nodiscard]] awaitable<bool> ready();
    // Until stop() or a signal.
    [[nodiscard]] awaitable<void> ended();
    [[nodiscard]] awaitable<void> stop();
    [[nodiscard]] bool over() const { return over_; }

    [[nodiscard]] const operator_process& process() const { return *process_; }
    [[nodiscard]] kube::client& api() { return *api_; }

   private:
    [[nodiscard]] awaitable<void> run();
    void register_webhooks();

    asio::io_context& loop_;
    box& box_;
    base::logger& log_;
    std::unique_ptr<kube::client> api_;
    std::unique_ptr<operator_process> process_;
    base::task_group tasks_;
    base::signal end_;
    bool over_ = false;
};

}  // namespace cotrain::app
