#include "serve/webhook_endpoint.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <string>
#include <utility>

#include "serve/reply.hpp"

namespace cotrain::serve {

namespace {

using admission::hook;
using clock = std::chrono::steady_clock;

constexpr std::array hooks{hook::default_train_job, hook::validate_train_job, hook::validate_training_runtime,
                           hook::validate_cluster_training_runtime};
// A byte of JSON makes at most so many of a document: "[0]," is an item in a list, and a list of one item.
constexpr std::size_t document_bytes_per_byte = 28;
constexpr std::size_t first_document_bytes = 8U << 10U;
// More values than two objects have that etcd takes, managed fields included. A reader keeps them on a stack.
constexpr std::ptrdiff_t values_max = std::ptrdiff_t{512} * 1024;
// The API server gives a webhook ten seconds, unless its configuration says otherwise.
constexpr std::chrono::milliseconds review_time{10'000};

base::seconds_time now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

bool is_json(const net::h2::head& head) {
    const auto type = net::find_header(head.headers, "content-type");
    return type.substr(0, type.find(';')) == "application/json";
}

reply busy() { return {.status = 503, .body = "too many requests at once\n", .headers = {{"retry-after", "1"}}}; }

}  // namespace

// Nobody of its kind waits, and this turn has room.
bool review_turns::free_for(std::size_t bytes) const {
    if (bytes > small_bytes_max) return taken_ == 0 && !large_begun_ && waiting() == 0;
    return taken_ < turn_bytes && small_.empty();
}

void review_turns::take(std::size_t bytes) {
    taken_ += bytes;
    if (bytes > small_bytes_max) {
        large_begun_ = true;
        taken_ = turn_bytes;
    }
    go_on_later();
}

awaitable<review_turns::turn> review_turns::begin(std::size_t bytes) {
    const bool large = bytes > small_bytes_max;
    if (free_for(bytes)) {
        take(bytes);
        co_return turn(*this, large);
    }
    struct place {
        place(queue& all, std::size_t of_bytes) : in(all), self{of_bytes} { in.push_back(&self); }
        ~place() {
            if (!self.granted) in.remove(&self);
        }
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        queue& in;
        waiter self;
    } mine(large ? large_ : small_, bytes);
    go_on_later();
    static_cast<void>(co_await mine.self.go.wait());
    if (!mine.self.granted) co_return turn();
    co_return turn(*this, large);
}

void review_turns::grant_first(queue& of) {
    waiter* const first = of.front();
    of.pop_front();
    first->granted = true;
    take(first->bytes);
    first->go.notify_later();
}

void review_turns::grant() {
    taken_ = 0;
    const bool large_next = !large_.empty() && !large_begun_ && (!large_was_last_ || small_.empty());
    large_was_last_ = large_next;
    if (large_next) return grant_first(large_);
    while (!small_.empty() && taken_ < turn_bytes) grant_first(small_);
}

void review_turns::end_large() {
    large_begun_ = false;
    if (!large_.empty()) go_on_later();
}

void review_turns::go_on_later() {
    if (going_on_) return;
    asio::post(executor_, [this, alive = alive_] {
        if (!*alive) return;
        going_on_ = false;
        grant();
    });
    going_on_ = true;  // unless there was no memory: then who comes next sees to it
}

webhook_endpoint::webhook_endpoint(asio::any_io_executor executor, cluster_view& cluster, runtime::plugins plugins,
                                   admission::gates open, const net::memory_account& account)
    : cluster_(cluster),
      turns_(std::move(executor)),
      work_bytes_max_(std::min(account.large_bytes_max() / 2, admission::review_memory_bytes_max)),
      open_(open),
      plugins_(std::move(plugins)) {
    for (hook_counts& each : counts_)
        for (const int code : {200, 400, 405, 413, 500, 503}) each.by_code[code] = 0;
}

net::server_options webhook_endpoint::server_options() {
    net::server_options out;
    out.body_bytes_max = admission::review_bytes_max;
    out.request = review_time;
    return out;
}

awaitable<void> webhook_endpoint::answer(net::incoming request) {
    const auto which = admission::hook_at(split_target(request.head().path).path);
    if (!which) co_return send(request, not_found());
    hook_counts& counts = counts_[static_cast<std::size_t>(*which)];
    reply out{.status = 500, .body = {}};
    // Of one that ends in an exception, too.
    struct mark {
        hook_counts& of;
        const reply& out;
        clock::time_point begun = clock::now();
        ~mark() {
            --of.in_flight;
            of.latency.observe(std::chrono::duration<double>(clock::now() - begun).count());
            ++of.by_code[out.status];
        }
    };
    ++counts.in_flight;
    std::optional<mark> counted(std::in_place, counts, out);
    if (request.head().method != "POST") {
        out = method_not_allowed("POST");
    } else if (!is_json(request.head())) {
        out = {.status = 400, .body = "content-type must be application/json\n"};
    } else {
        out = co_await review(*which, request);
    }
    counted.reset();
    send(request, std::move(out));
}

awaitable<reply> webhook_endpoint::review(hook which, net::incoming request) {
    const std::size_t bytes = request.body().size();
    request.may_be_ended(true);
    const auto turn = co_await turns_.begin(bytes);
    request.may_be_ended(false);
    if (!turn.granted() || request.over()) co_return busy();
    if (std::ranges::count(request.body(), ',') > values_max)
        co_return reply{.status = 413, .body = "the review has too many values\n"};
    if (!request.begin_work(std::min(bytes * document_bytes_per_byte + first_document_bytes, work_bytes_max_)))
        co_return busy();
    doc::arena memory;
    admission::call one(which, request.take_body(), now(), *plugins_, open_, work_bytes_max_);
    request.work_holds(one.memory_bytes());
    while (auto question = one.next()) one.tell(co_await cluster_.look_up(std::move(*question), &memory));
    co_return reply{.content_type = "application/json", .body = one.finish()};
}

void webhook_endpoint::write_metrics(exposition& to) const {
    to.family("controller_runtime_webhook_requests_total", metric_type::counter,
              "Total number of admission requests by HTTP status code.");
    for (const hook each : hooks)
        for (const auto& [code, count] : counts_[static_cast<std::size_t>(each)].by_code)
            to.sample({{"webhook", admission::path_of(each)}, {"code", std::to_string(code)}},
                      static_cast<double>(count));
    to.family("controller_runtime_webhook_requests_in_flight", metric_type::gauge,
              "Current number of admission requests being served.");
    for (const hook each : hooks)
        to.sample({{"webhook", admission::path_of(each)}},
                  static_cast<double>(counts_[static_cast<std::size_t>(each)].in_flight));
    to.family("controller_runtime_webhook_latency_seconds", metric_type::histogram,
              "Histogram of the latency of processing admission requests.");
    for (const hook each : hooks)
        counts_[static_cast<std::size_t>(each)].latency.write(to, {{"webhook", admission::path_of(each)}});
}

}  // namespace cotrain::serve
