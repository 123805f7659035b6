// Reviews over the wire under a small account: what strangers send ends none that the API server sends.
#include "serve/webhook_endpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string>

#include "base/task_group.hpp"
#include "net/client.hpp"
#include "plugins/builtin.hpp"
#include "support/run.hpp"

namespace cotrain::serve {
namespace {

using testing::HasSubstr;

constexpr std::string_view path = "/validate-trainer-kubeflow-org-v1alpha1-trainjob";
constexpr std::size_t mib = 1U << 20U;

struct no_cluster final : cluster_view {
    bool fails = false;
    awaitable<admission::answer> look_up(admission::question, doc::arena*) override {
        if (fails) throw std::bad_alloc();
        co_return admission::answer{};
    }
};

class endpoint {
   public:
    explicit endpoint(std::size_t account_bytes)
        : account_(std::make_shared<net::memory_account>(account_bytes)),
          webhooks_(loop_.get_executor(), cluster_, std::make_shared<const plugins::builtin>(), {}, *account_),
          server_(
              loop_.get_executor(), options(), [this](net::incoming in) { return webhooks_.answer(std::move(in)); },
              base::null_logger()) {}

    void run(std::function<awaitable<void>(endpoint&)> body) { test::run(loop_, play(this, std::move(body))); }

    awaitable<base::result<net::response>> review(std::string body) {
        net::request what;
        what.method = "POST";
        what.path = std::string(path);
        what.headers = {{"content-type", "application/json"}};
        what.body = std::move(body);
        co_return co_await client_->send(std::move(what));
    }
    [[nodiscard]] std::size_t held() const { return account_->held(); }
    [[nodiscard]] std::string metrics() const {
        exposition out(text_format::prometheus);
        webhooks_.write_metrics(out);
        return out.finish();
    }
    void fail_look_ups() { cluster_.fails = true; }
    asio::io_context& loop() { return loop_; }

   private:
    net::server_options options() const {
        net::server_options out = webhook_endpoint::server_options();
        out.account = account_;
        return out;
    }
    static awaitable<void> play(endpoint* self, std::function<awaitable<void>(endpoint&)> body) {
        EXPECT_TRUE(self->server_.start().has_value());
        net::client_options o;
        o.peer = {"127.0.0.1", self->server_.port()};
        o.scheme = "http";
        self->client_ = std::make_unique<net::client>(self->loop_.get_executor(), std::move(o), base::null_logger());
        co_await body(*self);
        co_await self->client_->stop();
        co_await self->server_.stop();
        EXPECT_EQ(self->held(), 0U);
    }

    asio::io_context loop_{1};
    std::shared_ptr<net::memory_account> account_;
    no_cluster cluster_;
    webhook_endpoint webhooks_;
    net::server server_;
    std::unique_ptr<net::client> client_;
};

std::string review_of(std::string_view object) {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",)"
           R"("kind":{"group":"trainer.kubeflow.org","version":"v1alpha1","kind":"TrainJob"},)"
           R"("operation":"CREATE","namespace":"a","name":"b","object":)" +
           std::string(object) + "}}";
}

std::string repeated(std::string_view item, std::size_t bytes) {
    std::string out = "[";
    while (out.size() < bytes) out.append(item).push_back(',');
    out.back() = ']';
    return out;
}

std::string job_with_label(std::size_t bytes) {
    return R"({"metadata":{"name":"b","namespace":"a","annotations":{"x":")" + std::string(bytes, 'x') +
           R"("}},"spec":{"runtimeRef":{"name":"r"}}})";
}

awaitable<void> ask_and_count(endpoint* e, std::string body, int* answered) {
    const auto got = co_await e->review(std::move(body));
    EXPECT_TRUE(got.has_value());
    if (got) ++*answered;
}

awaitable<void> ends_in_an_exception(endpoint& e) {
    e.fail_look_ups();
    const auto got = co_await e.review(review_of(job_with_label(10)));
    EXPECT_EQ(got ? got->status : 0, 500);
    const std::string metrics = e.metrics();
    const std::string of_it = "{webhook=\"" + std::string(path) + "\"";
    EXPECT_THAT(metrics, HasSubstr("controller_runtime_webhook_requests_in_flight" + of_it + "} 0\n"));
    EXPECT_THAT(metrics, HasSubstr("controller_runtime_webhook_requests_total" + of_it + ",code=\"500\"} 1\n"));
    EXPECT_THAT(metrics, HasSubstr("controller_runtime_webhook_latency_seconds_count" + of_it + "} 1\n"));
}

TEST(webhook_endpoint, one_that_ends_in_an_exception_is_counted_and_over) {
    endpoint(64 * mib).run(ends_in_an_exception);
}

awaitable<void> bodies_that_grow(endpoint& e) {
    for (const std::string_view item : {"[0]", "0", "[]", "{}", "\"\"", "[[[0]]]", "{\"a\":0}"}) {
        const auto got = co_await e.review(repeated(item, 6 * mib));
        EXPECT_EQ(got ? got->status : 0, 413) << item;
        const auto few = co_await e.review(review_of(repeated(item, mib)));
        EXPECT_TRUE(few && (few->status == 200 || few->status == 413)) << item;
        EXPECT_LE(e.held(), 2 * net::memory_account::small_bytes) << item;
    }
    const auto good = co_await e.review(review_of(job_with_label(3 * mib)));
    EXPECT_EQ(good ? good->status : 0, 200);
    if (good) EXPECT_THAT(good->body, HasSubstr("u1"));
}

TEST(webhook_endpoint, bodies_that_make_large_documents_are_refused) { endpoint(64 * mib).run(bodies_that_grow); }

awaitable<void> many_large(endpoint& e) {
    base::task_group tasks(co_await asio::this_coro::executor);
    int answered = 0;
    for (int i = 0; i < 8; ++i) tasks.spawn("large", ask_and_count(&e, review_of(job_with_label(3 * mib)), &answered));
    for (int i = 0; i < 20; ++i) {
        const auto small = co_await e.review(review_of(job_with_label(1000)));
        EXPECT_EQ(small ? small->status : 0, 200) << "while large ones wait";
    }
    co_await tasks.join();
    EXPECT_EQ(answered, 8);
}

// The longest that this thread works between two turns of somebody who always wants one.
struct held_loop {
    asio::io_context& loop;
    std::chrono::nanoseconds longest{};
    bool over = false;

    static std::chrono::nanoseconds worked() {
        timespec now{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    }
    void turn(std::chrono::nanoseconds before) {
        longest = std::max(longest, worked() - before);
        if (!over) asio::post(loop, [this, now = worked()] { turn(now); });
    }
};

std::string job_with(std::string_view field, std::string_view value) {
    return R"({"metadata":{"name":"b","namespace":"a"},"spec":{"runtimeRef":{"name":"r"},")" + std::string(field) +
           "\":" + std::string(value) + "}}";
}

awaitable<void> measure(endpoint* e, std::string what, std::string body) {
    held_loop probe{e->loop()};
    probe.turn(held_loop::worked());
    const auto got = co_await e->review(std::move(body));
    EXPECT_TRUE(got.has_value());
    probe.over = true;
    for (int i = 0; i < 2; ++i) co_await asio::post(e->loop(), asio::use_awaitable);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(probe.longest).count();
    std::printf("%s: held for %lld ms\n", what.c_str(), static_cast<long long>(ms));
    EXPECT_LT(ms, 1000) << what;
}

awaitable<void> hold(endpoint& e) {
    const std::string overrides = repeated(R"({"targetJobs":[{"name":"node"}]})", 3 * mib);
    co_await measure(&e, "one long text", review_of(job_with_label(3 * mib)));
    co_await measure(&e, "many small lists", review_of(repeated("[0,1,2,3,4,5,6,7]", 3 * mib)));
    co_await measure(&e, "many overrides", review_of(job_with("podTemplateOverrides", overrides)));
    co_await measure(&e, "many unknown ones", review_of(job_with("x", repeated(R"({"a":"b","c":"d"})", 3 * mib))));
}

TEST(webhook_endpoint, a_review_of_3_mib_holds_the_loop_for_less_than_a_second) { endpoint(64 * mib).run(hold); }

TEST(webhook_endpoint, small_reviews_pass_while_large_ones_wait) { endpoint(64 * mib).run(many_large); }

}  // namespace
}  // namespace cotrain::serve
