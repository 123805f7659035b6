// The coroutines around a list/watch machine: one that asks, and one that notices silence.
#include "watch/informer.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "base/contain.hpp"

namespace cotrain::watch {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds mistake_pause{1'000};

awaitable<bool> cancelled() {
    co_return (co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none;
}

counted counted_as(event_type t) { return static_cast<counted>(t); }
static_assert(static_cast<int>(event_type::unknown) == static_cast<int>(counted::unknown));
static_assert(static_cast<int>(event_type::bookmark) == static_cast<int>(counted::bookmark));

}  // namespace

std::string_view to_string(counted c) {
    switch (c) {
        case counted::added: return "added";
        case counted::modified: return "modified";
        case counted::deleted: return "deleted";
        case counted::bookmark: return "bookmark";
        case counted::error: return "error";
        case counted::unknown: return "unknown";
        case counted::listed: return "listed";
    }
    return "unknown";
}

informer::informer(kind of, object_store& store, const informer_tools& tools, const informer_options& options,
                   const object_store* jobs)
    : of_(of),
      owner_(tools.owner),
      store_(store),
      api_(tools.api),
      random_(tools.random),
      log_(tools.log),
      ns_(options.ns),
      intake_(of, store, tools.texts, tools.to, tools.log, jobs, options.ns),
      machine_(options.timing),
      rest_(tools.owner.executor()),
      overseer_(tools.owner.executor(), clock::time_point::max()) {}

void informer::start() {
    owner_.spawn("informer", run());
    owner_.supervise("informer overseer", [this] { return oversee(); }, log_);
}

awaitable<bool> informer::synced() {
    while (state_ != state::synced)
        if (co_await waiting_.until(clock::time_point::max()) == kube::sleepers::outcome::cancelled) co_return false;
    co_return true;
}

awaitable<bool> informer::settled() {
    while (state_ == state::starting)
        if (co_await waiting_.until(clock::time_point::max()) == kube::sleepers::outcome::cancelled) co_return false;
    co_return true;
}

void informer::want() {
    if (machine_.want(clock::now())) rest_.cancel();
}

void informer::ask_rights_again() {
    if (machine_.ask_rights_again(clock::now())) rest_.cancel();
}

bool informer::take_again(std::string_view object) {
    object_view view;
    if (!decode_object(object, view, intake_.parts())) return false;
    if (store_.find(view.ns.raw, view.name.raw)) intake_.upsert(view, false);
    return true;
}

awaitable<void> informer::run() {
    for (;;) {
        std::string mistake;
        try {
            co_await perform(machine_.next(clock::now(), random_));
        } catch (...) {
            mistake = base::caught();
        }
        if (!mistake.empty()) co_await made_mistake(std::move(mistake));
        if (co_await cancelled()) co_return;
    }
}

awaitable<void> informer::perform(list_watch::action what) {
    switch (what.what) {
        case list_watch::ask::list: co_await list(std::move(what)); break;
        case list_watch::ask::watch: co_await watch(std::move(what)); break;
        default:
            rest_.expires_at(what.until);
            co_await rest_.async_wait(use_tuple);
            break;
    }
}

// It ends one list or watch, like a failure of the server's: the next begins after the same pauses.
awaitable<void> informer::made_mistake(std::string what) {
    log_.error("a list or watch ended in an exception, which is a mistake of the operator",
               {{"kind", info_of(of_).label}, {"namespace", ns_}, {"error", what}});
    if (!machine_.under_way()) {
        rest_.expires_after(mistake_pause);
        co_await rest_.async_wait(use_tuple);
        co_return;
    }
    machine_.failed(base::make_error(base::errc::internal, base::retry::later, "a mistake of the operator: " + what),
                    clock::now());
    restarted();
}

// --- lists ---------------------------------------------------------------------------------------------------------

// What is taken in besides from here on may be newer than the list; a list that fails begins another picture.
awaitable<void> informer::list(list_watch::action what) {
    if (what.begins) intake_.begin_picture();
    auto page = co_await api_.list(info_of(of_).of, ns_,
                                   {.limit = what.limit, .continue_token = what.continue_token, .as = info_of(of_).as});
    if (co_await cancelled()) co_return;
    auto trailer = page ? take_page(page->body) : base::fail(std::move(page).error());
    if (!trailer) {
        machine_.failed(trailer.error(), clock::now());
        restarted();
    } else if (machine_.page_done(*trailer).complete) {
        completed();
    }
}

base::result<page_reader::trailer> informer::take_page(const std::string& page) {
    page_reader items(page);
    while (items.next(event_.object, intake_.parts())) {
        count(counted::listed);
        intake_.upsert(event_.object);
    }
    return items.finish();
}

// --- watches -------------------------------------------------------------------------------------------------------

awaitable<void> informer::watch(list_watch::action what) {
    const auto executor = co_await asio::this_coro::executor;
    const auto outer = co_await asio::this_coro::cancellation_state;
    if (what.begins) intake_.begin_picture();
    reading_ = true;
    abandoned_ = false;
    overseer_.expires_at(what.until);
    auto slot = outer.slot();
    if (slot.is_connected()) slot.assign([this](asio::cancellation_type how) { stop_reading_.emit(how); });
    auto [failure, end] = co_await asio::co_spawn(
        executor, read(std::move(what)),
        asio::bind_cancellation_slot(stop_reading_.slot(), asio::as_tuple(asio::use_awaitable)));
    if (slot.is_connected()) slot.clear();
    reading_ = open_ = false;
    if (co_await cancelled()) co_return;
    if (abandoned_) co_return restarted();
    if (failure) std::rethrow_exception(failure);
    if (end && *end == ending::clean) machine_.ended(clock::now());
    if (!end) machine_.failed(end.error(), clock::now());
    restarted();
}

awaitable<base::result<informer::ending>> informer::read(list_watch::action what) {
    auto stream = co_await api_.watch(info_of(of_).of, ns_,
                                      {.resource_version = what.resource_version,
                                       .send_initial_events = what.initial_events,
                                       .timeout = what.timeout,
                                       .as = info_of(of_).as});
    if (!stream) co_return base::fail(std::move(stream).error());
    open_ = true;
    denied_ = false;
    for (;;) {
        // After a long sleep of the whole process, what was sent meanwhile may wake us in the same turn as the
        // overseer.
        if (abandoned_) co_return ending::told;
        const auto line = stream->take();
        if (!line) co_return base::fail(line.error());
        if (*line) {
            const auto goes_on = take(**line);
            if (!goes_on) co_return base::fail(goes_on.error());
            if (!*goes_on) co_return ending::told;
            continue;
        }
        const auto more = co_await stream->more();
        if (!more) co_return base::fail(more.error());
        if (!*more) co_return ending::clean;
    }
}

// Whether the watch goes on.
base::result<bool> informer::take(std::string_view line) {
    if (auto ok = decode_event(line, event_, intake_.parts()); !ok) return base::fail(std::move(ok).error());
    count(counted_as(event_.type));
    const auto verdict = machine_.event(event_, clock::now());
    switch (verdict.object) {
        case list_watch::verdict::change::upsert: intake_.upsert(event_.object); break;
        case list_watch::verdict::change::remove: intake_.remove(event_.object); break;
        case list_watch::verdict::change::none: break;
    }
    if (verdict.complete) completed();
    // The machine has been told already: it must not be asked about silence again.
    if (verdict.close) reading_ = false;
    return !verdict.close;
}

// A watch that is silent for too long is dropped. Only asked while one is open: then the machine begins nothing.
awaitable<void> informer::oversee() {
    for (;;) {
        const auto [woken] = co_await overseer_.async_wait(use_tuple);
        if (co_await cancelled()) co_return;
        if (woken) continue;  // a new moment was set
        overseer_.expires_at(clock::time_point::max());
        if (!reading_ || abandoned_) continue;
        const auto todo = machine_.next(clock::now(), random_);
        if (todo.what == list_watch::ask::abandon) {
            abandoned_ = true;
            stop_reading_.emit(asio::cancellation_type::all);
        } else {
            overseer_.expires_at(todo.until);
        }
    }
}

// --- what it comes to ----------------------------------------------------------------------------------------------

void informer::become(state s) {
    if (state_ == s) return;
    state_ = s;
    waiting_.wake_all();
}

void informer::completed() {
    logged_ = restart_reason::ended;
    become(state::synced);
    intake_.end_picture(machine_.resource_version());
}

void informer::restarted() {
    const restart_reason why = machine_.last_reason();
    denied_ = why == restart_reason::unauthorized;
    const bool known = why == restart_reason::ended || why == logged_;
    logged_ = why;
    log_.write(known ? base::level::debug : base::level::warn, "watch restarted",
               {{"kind", info_of(of_).label}, {"reason", to_string(why)}, {"error", machine_.last_error()}});
    if (machine_.missing() && state_ != state::missing) {
        become(state::missing);
        intake_.vanish();
    }
    if (why == restart_reason::unauthorized && state_ == state::starting) become(state::forbidden);
}

}  // namespace cotrain::watch
