#include "ui/follower.hpp"

#include <utility>

#include "base/contain.hpp"

namespace cotrain::ui {

namespace {

using clock = std::chrono::steady_clock;
using watch::list_watch;
using watch::watcher_event;

constexpr std::chrono::milliseconds mistake_pause{1'000};

awaitable<void> rest_until(clock::time_point until) {
    asio::steady_timer timer(co_await asio::this_coro::executor, until);
    co_await timer.async_wait(use_tuple);
}

awaitable<bool> cancelled() {
    co_return (co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none;
}

}  // namespace

std::string_view to_string(follower::state s) {
    switch (s) {
        case follower::state::loading: return "loading";
        case follower::state::synced: return "synced";
        case follower::state::behind: return "behind";
        case follower::state::missing: return "missing";
        case follower::state::forbidden: return "forbidden";
    }
    return "loading";
}

follower::follower(const kube::resource& of, std::string ns, std::string labels, follower_sink& to, kube::client& api,
                   base::logger& log)
    : of_(of), ns_(std::move(ns)), labels_(std::move(labels)), to_(to), api_(api), log_(log) {}

// An exception is a mistake of ours: it ends one list or watch as a failure of the server's would.
awaitable<void> follower::run() {
    while (!co_await cancelled()) {
        std::string mistake;
        try {
            co_await perform(machine_.next(clock::now(), random_));
        } catch (...) {
            mistake = base::caught();
        }
        if (mistake.empty()) continue;
        log_.error("unexpected exception", {{"in", "list or watch"}, {"kind", of_.kind}, {"error", mistake}});
        if (machine_.under_way()) failed(base::make_error(base::errc::internal, base::retry::later, mistake));
        co_await rest_until(clock::now() + mistake_pause);
    }
}

awaitable<void> follower::perform(list_watch::action what) {
    if (what.what == list_watch::ask::list) return list(std::move(what));
    if (what.what == list_watch::ask::watch) return watch(std::move(what));
    return rest_until(what.until);
}

awaitable<void> follower::list(list_watch::action what) {
    if (what.init) to_.begin_relist();
    const auto page = co_await api_.list(
        of_, ns_, {.label_selector = labels_, .limit = what.limit, .continue_token = what.continue_token});
    if (co_await cancelled()) co_return;
    if (!page) co_return failed(page.error());
    const auto trailer = watch::decode_page(page->body, {}, [this](const watch::object_view& item) { to_.put(item); });
    if (!trailer) co_return failed(trailer.error());
    if (machine_.page_done(*trailer) != watcher_event::init_done) co_return;
    to_.end_relist();
    become(state::synced);
}

awaitable<void> follower::watch(list_watch::action what) {
    if (what.init) to_.begin_relist();
    auto stream = co_await api_.watch(of_, ns_,
                                      {.label_selector = labels_,
                                       .resource_version = what.resource_version,
                                       .send_initial_events = what.init,
                                       .timeout = what.timeout});
    if (co_await cancelled()) co_return;
    if (!stream) co_return failed(stream.error());
    if (machine_.synced()) become(state::synced);
    for (;;) {
        const auto line = stream->take();
        if (!line) co_return failed(line.error());
        if (*line) {
            const auto goes_on = take(**line);
            if (!goes_on) co_return failed(goes_on.error());
            if (!*goes_on) co_return failed({});
            continue;
        }
        const auto more = co_await stream->more();
        if (co_await cancelled()) co_return;
        if (!more) co_return failed(more.error());
        if (!*more) co_return machine_.ended(clock::now());
    }
}

base::result<bool> follower::take(std::string_view line) {
    if (auto ok = watch::decode_event(line, event_); !ok) return base::fail(std::move(ok).error());
    const auto outcome = machine_.event(event_, clock::now());
    switch (outcome.event) {
        case watcher_event::init_apply:
        case watcher_event::apply: to_.put(event_.object); break;
        case watcher_event::remove: to_.remove(event_.object); break;
        case watcher_event::init_done:
            to_.end_relist();
            become(state::synced);
            break;
        case watcher_event::init:
        case watcher_event::none: break;
    }
    return !outcome.close;
}

// A watch that the machine itself has closed needs no report to it.
void follower::failed(const base::error& why) {
    if (machine_.under_way()) machine_.failed(why, clock::now());
    log_.debug("watch restarted", {{"kind", of_.kind}, {"error", machine_.last_error()}});
    if (machine_.missing()) {
        // Nothing of the kind is there any more.
        to_.begin_relist();
        to_.end_relist();
        return become(state::missing);
    }
    if (machine_.last_reason() == watch::restart_reason::unauthorized) return become(state::forbidden);
    if (machine_.last_reason() != watch::restart_reason::unsupported)
        become(machine_.synced() ? state::behind : state::loading);
}

void follower::become(state s) {
    if (std::exchange(state_, s) != s || s == state::loading) to_.stands();
}

}  // namespace cotrain::ui
