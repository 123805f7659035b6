// An API server that answers as a test tells it to, and a client of it, on one loop.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/task_group.hpp"
#include "kube/client.hpp"
#include "net/server.hpp"
#include "support/run.hpp"

namespace cotrain::kube {

inline constexpr resource config_map{"", "v1", "configmaps", "ConfigMap"};
inline constexpr resource job_set{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"};

class fake_api {
   public:
    struct seen_request {
        net::h2::head head;
        std::string body;
        [[nodiscard]] std::string header(std::string_view name) const {
            return std::string(net::find_header(head.headers, name));
        }
    };
    using responder = std::function<awaitable<void>(fake_api&, net::incoming)>;
    using body = std::function<awaitable<void>(fake_api&, client&)>;

    explicit fake_api(responder answer, net::server_options options = {})
        : answer_(std::move(answer)),
          server_(
              loop.get_executor(), std::move(options), [this](net::incoming in) { return note(std::move(in)); },
              base::null_logger()) {
        cluster.host = "127.0.0.1";
        cluster.scheme = "http";
        cluster.origin = "test";
        options_.wire.reconnect = {std::chrono::milliseconds(1), std::chrono::milliseconds(20), 2.0, 0.5};
        options_.retry.wait_first = std::chrono::milliseconds(1);
        options_.retry.wait_max = std::chrono::milliseconds(10);
    }

    // Starts server and client, runs `what`, stops both.
    void run(const body& what) { test::run(loop, play(this, &what)); }
    client_options& options() { return options_; }
    net::server& server() { return server_; }

    asio::io_context loop{1};
    cluster_config cluster;
    std::vector<seen_request> seen;
    std::vector<std::string> lines;  // of the log
    base::logger log{
        [](void* to, std::string_view line) { static_cast<std::vector<std::string>*>(to)->emplace_back(line); }, &lines,
        base::level::info};

   private:
    static awaitable<void> play(fake_api* self, const body* what) {
        const auto started = self->server_.start();
        EXPECT_TRUE(started.has_value());
        self->cluster.port = self->server_.port();
        auto made = client::make(self->loop.get_executor(), self->cluster, self->options_, self->log);
        if (!made) {
            ADD_FAILURE() << made.error().message;
        } else {
            co_await (*what)(*self, **made);
            co_await (*made)->stop();
        }
        co_await self->server_.stop();
    }
    awaitable<void> note(net::incoming in) {
        seen.push_back({in.head(), std::string(in.body())});
        return answer_(*this, std::move(in));
    }

    responder answer_;
    client_options options_;
    net::server server_;
};

// One canned answer after the other; the last one stays.
struct canned {
    int status = 200;
    net::header_list headers{};
    std::string body = "{}";
};

inline awaitable<void> give(net::incoming in, canned answer) {
    in.respond(answer.status, std::move(answer.headers), answer.body);
    co_return;
}

inline fake_api::responder answers(std::vector<canned> all) {
    return [all = std::move(all)](fake_api& api, net::incoming in) {
        return give(std::move(in), all[std::min(api.seen.size() - 1, all.size() - 1)]);
    };
}

}  // namespace cotrain::kube
