// The queue in front of the API server, and what a refusal means.
#include "reconcile/event_sink.hpp"

#include <algorithm>
#include <utility>

#include "api/names.hpp"

namespace cotrain::reconcile {

namespace {

using clock = std::chrono::steady_clock;

constexpr kube::resource events{api::names::event.group, api::names::event.version, api::names::event.plural,
                                api::names::event.kind};

}  // namespace

event_sink::event_sink(base::task_group& owner, kube::client& api, base::logger& log, std::string controller,
                       std::string instance, write_allowance may_write, std::function<bool()> busy)
    : owner_(owner),
      api_(api),
      log_(log),
      recorder_(std::move(controller), std::move(instance)),
      may_write_(std::move(may_write)),
      busy_(std::move(busy)) {}

void event_sink::start() {
    owner_.supervise("event sink", [this] { return run(); }, log_);
}

std::size_t event_sink::room_for(const event_note& what) const {
    if (what.kept) return event_queue_kept_max;
    if (what.type == event_type::warning) return event_queue_max;
    return busy_ && busy_() ? 0 : event_queue_normal_max;
}

// Asked for room before it is recorded: the recorder believes that what it gives out is written.
void event_sink::post(const event_note& what) {
    if (queue_.size() >= room_for(what)) {
        ++metrics_.dropped;
        return;
    }
    auto write = recorder_.record(what, clock::now(),
                                  std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()));
    if (!write) return;
    queue_.push_back(std::move(*write));
    if (queue_.size() == 1) filled_.notify_later();
}

awaitable<void> event_sink::run() {
    for (;;) {
        while (queue_.empty())
            if (!co_await filled_.wait()) co_return;
        event_write next = std::move(queue_.front());
        queue_.pop_front();
        const bool kept = next.kept;
        event_write again = kept ? next : event_write{};
        if (!co_await send(std::move(next)) || ++again.tries >= event_tries_max) continue;
        asio::steady_timer timer(co_await asio::this_coro::executor, again.tries * event_retry_pause);
        const auto [stopped] = co_await timer.async_wait(use_tuple);
        if (stopped) co_return;
        queue_.push_front(std::move(again));
    }
}

awaitable<bool> event_sink::send(event_write what) {
    const bool kept = what.kept;
    const auto permit = may_write_ ? may_write_() : write_permit(event_deadline);
    if (!permit) {
        ++metrics_.dropped;
        co_return false;
    }
    const kube::write_options options{
        .with = {net::priority::write, std::min(event_deadline, permit->time), permit->latest}};
    base::result<kube::reply> got;
    if (what.how == event_write::verb::create)
        got = co_await api_.create(events, what.ns, std::move(what.body), options);
    else
        got = co_await api_.merge_patch(events, {what.ns, what.name}, std::move(what.body), options);
    if (got) {
        ++metrics_.sent;
        complained_ = 0;
        co_return false;
    }
    ++metrics_.failed;
    // It is not there (any more): the next repetition makes one.
    recorder_.forget(what.ns, what.name);
    const base::error& why = got.error();
    if (why.http_status == 404) co_return false;
    if (why.http_status == 409 && kept) co_return false;  // an earlier try was taken, and its answer lost
    const int complaint = why.http_status == 0 ? -1 : why.http_status;
    if (std::exchange(complained_, complaint) != complaint)
        log_.warn("cannot write an event", {{"namespace", what.ns}, {"error", why.message}});
    co_return kept && (why.http_status == 0 || why.http_status == 429 || why.http_status >= 500);
}

}  // namespace cotrain::reconcile
