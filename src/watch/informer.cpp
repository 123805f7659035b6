#include "watch/informer.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include "base/contain.hpp"

namespace cotrain::watch {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds mistake_pause{1'000};
constexpr std::chrono::seconds memory_pause{10};

base::error lost() {
    base::error e = base::make_error(base::errc::internal, base::retry::later, "no memory to take in what came");
    e.retry_after = memory_pause;
    return e;
}

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

informer::informer(kind of, object_store& store, const informer_tools& tools, const informer_options& options)
    : of_(of),
      resource_(info_of(of).of),
      owner_(tools.owner),
      store_(store),
      api_(tools.api),
      random_(tools.random),
      log_(tools.log),
      ns_(options.ns),
      intake_(of, store, tools.texts, tools.to, tools.log, options.ns, options.child_suffixes),
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
    return !intake_.take_lost();
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
    log_.error("unexpected exception",
               {{"in", "list or watch"}, {"kind", info_of(of_).label}, {"namespace", ns_}, {"error", what}});
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

// What is taken in besides from here on may be newer than the list; a list that fails begins another relist.
awaitable<void> informer::list(list_watch::action what) {
    if (what.init) intake_.begin_relist();
    auto page = co_await api_.list(resource_, ns_,
                                   {.limit = what.limit, .continue_token = what.continue_token, .as = info_of(of_).as});
    if (co_await cancelled()) co_return;
    auto trailer = page ? take_page(page->body) : base::fail(std::move(page).error());
    if (!trailer) {
        machine_.failed(trailer.error(), clock::now());
        restarted();
    } else if (machine_.page_done(*trailer) == watcher_event::init_done) {
        completed();
    }
}

base::result<page_trailer> informer::take_page(const std::string& page) {
    auto trailer = decode_page(page, intake_.parts(), [this](const object_view& item) {
        count(counted::listed);
        intake_.upsert(item);
    });
    if (trailer && intake_.take_lost()) return base::fail(lost());
    return trailer;
}

// --- watches -------------------------------------------------------------------------------------------------------

awaitable<void> informer::watch(list_watch::action what) {
    const auto executor = co_await asio::this_coro::executor;
    const auto outer = co_await asio::this_coro::cancellation_state;
    if (what.init) intake_.begin_relist();
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
    auto stream = co_await api_.watch(resource_, ns_,
                                      {.resource_version = what.resource_version,
                                       .send_initial_events = what.init,
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
    const auto outcome = machine_.event(event_, clock::now());
    switch (outcome.event) {
        case watcher_event::init_apply:
        case watcher_event::apply: intake_.upsert(event_.object); break;
        case watcher_event::remove: intake_.remove(event_.object); break;
        case watcher_event::init_done: completed(); break;
        case watcher_event::init:
        case watcher_event::none: break;
    }
    if (!outcome.close && intake_.take_lost()) return base::fail(lost());
    // The machine has been told already: it must not be asked about silence again.
    if (outcome.close) reading_ = false;
    return !outcome.close;
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
    other_tried_ = false;
    become(state::synced);
    intake_.end_relist(machine_.resource_version());
}

// A kind is missing when it is so in both versions, one after the other.
bool informer::try_other_version() {
    const kind_info& info = info_of(of_);
    if (info.older.empty()) return false;
    resource_.version = resource_.version == info.older ? info.of.version : info.older;
    other_tried_ = !other_tried_;
    return other_tried_;
}

void informer::restarted() {
    const restart_reason why = machine_.last_reason();
    denied_ = why == restart_reason::unauthorized;
    const bool known = why == restart_reason::ended || why == logged_;
    logged_ = why;
    const base::level how = known ? base::level::debug : denied_ ? base::level::error : base::level::warn;
    log_.write(how, "watch restarted",
               {{"kind", info_of(of_).label}, {"reason", to_string(why)}, {"error", machine_.last_error()}});
    if (machine_.missing() && !try_other_version() && state_ != state::missing) {
        become(state::missing);
        intake_.vanish();
    }
    if (why == restart_reason::unauthorized && state_ == state::starting) become(state::forbidden);
}

// --- all kinds -----------------------------------------------------------------------------------------------------

kind_set watched_kinds() {
    kind_set out;
    for (const kind k : all_kinds()) out.set(static_cast<std::size_t>(k), info_of(k).watched);
    return out;
}

kept_bounds kept_bounds::of_process(std::uint64_t memory_bytes) {
    constexpr std::uint64_t least = 4UL << 20U;
    constexpr std::uint64_t most = 256UL << 20U;
    const auto all = static_cast<std::size_t>(std::clamp(memory_bytes / 8, least, most));
    const spec_bounds half{all / 8, all / 2};
    return {.of_namespaces = {all / 4, all}, .of_cluster = {all, all}, .of_jobs = half, .of_job_sets = half};
}

informers::informers(const informer_tools& tools, const informers_options& options)
    : to_(tools.to),
      owner_(tools.owner),
      api_(tools.api),
      random_(tools.random),
      log_(tools.log),
      texts_(tools.texts),
      retry_(options.timing.retry),
      refill_pause_(options.refill_pause),
      by_namespace_(!options.namespaces.empty()) {
    const informer_tools inner{tools.owner, tools.api, tools.texts, *this, tools.random, tools.log};
    for (const kind k : all_kinds()) {
        auto& p = places_[static_cast<std::size_t>(k)];
        const kept_bounds& most = options.kept;
        switch (k) {
            case kind::training_runtime: p = std::make_unique<place>(tools.texts, most.of_namespaces); break;
            case kind::cluster_training_runtime: p = std::make_unique<place>(tools.texts, most.of_cluster); break;
            case kind::train_job:
                p = std::make_unique<place>(tools.texts, most.of_jobs, object_store::bodies_without_specs{});
                break;
            case kind::job_set:
                p = std::make_unique<place>(tools.texts, most.of_job_sets, object_store::bodies_without_specs{});
                break;
            default: p = std::make_unique<place>(tools.texts); break;
        }
    }
    for (const kind k : all_kinds()) {
        if (!options.watched.test(static_cast<std::size_t>(k))) continue;
        list_watch_options timing = options.timing;
        timing.needed = timing.needed && required(k);
        const auto add = [&](std::string ns) {
            places_[static_cast<std::size_t>(k)]->watchers.push_back(std::make_unique<informer>(
                k, own(k), inner, informer_options{timing, std::move(ns), options.child_suffixes}));
        };
        if (by_namespace_ && info_of(k).of.namespaced)
            for (const std::string& ns : options.namespaces) add(ns);
        else
            add({});
    }
}

void informers::start() {
    for (const auto& p : places_)
        for (const auto& w : p->watchers) w->start();
    for (const kind k : {kind::training_runtime, kind::cluster_training_runtime})
        if (of(k) != nullptr) owner_.supervise("runtimes that were left out", [this, k] { return refill(k); }, log_);
}

// One at a time. What fails is asked for again, behind all others.
awaitable<void> informers::refill(kind k) {
    place& here = *places_[static_cast<std::size_t>(k)];
    base::backoff pause(retry_);
    asio::steady_timer timer(owner_.executor());
    for (text_id last = no_text;;) {
        last = here.objects.room()->next_wanted(last);
        if (last == no_text) {
            if (!co_await here.room.wait()) co_return;
            continue;
        }
        const std::string_view key = texts_.view(last);
        const std::size_t slash = key.find('/');
        const bool come = co_await read_again(k, std::string(key.substr(0, slash)), std::string(key.substr(slash + 1)));
        if (come) pause.reset();
        timer.expires_after(come ? refill_pause_ : pause.next(random_));
        const auto [error] = co_await timer.async_wait(use_tuple);
        if (error) co_return;
    }
}

// False where it has to be asked for again. One that went meanwhile is not brought back.
awaitable<bool> informers::read_again(kind k, std::string ns, std::string name) {
    const auto answer = co_await api_.get(info_of(k).of, {ns, name});
    if (!answer) co_return false;
    for (const auto& w : all_of(k))
        if (w->ns().empty() || w->ns() == ns) co_return w->take_again(answer->body);
    co_return false;
}

const informer* informers::of(kind k, std::string_view ns) const {
    for (const auto& w : all_of(k))
        if (ns.empty() || w->ns().empty() || w->ns() == ns) return w.get();
    return nullptr;
}

bool informers::required(kind k) const { return info_of(k).required && (!by_namespace_ || info_of(k).of.namespaced); }

bool informers::all_synced(kind k) const {
    return std::ranges::all_of(all_of(k), [](const auto& w) { return w->in_sync(); });
}

awaitable<bool> informers::ready() {
    for (const auto& p : places_) {
        for (const auto& w : p->watchers) {
            const bool there = required(w->of()) ? co_await w->synced() : co_await w->settled();
            if (!there) co_return false;
        }
    }
    co_return true;
}

bool informers::is_ready() const {
    for (const auto& p : places_) {
        for (const auto& w : p->watchers) {
            if (required(w->of()) && !w->in_sync()) return false;
            if (w->now() == informer::state::starting) return false;
        }
    }
    return true;
}

std::vector<kind> informers::missing() const {
    std::vector<kind> all;
    for (const kind k : all_kinds())
        if (required(k) && std::ranges::any_of(all_of(k), [](const auto& w) { return w->missing(); })) all.push_back(k);
    return all;
}

std::size_t informers::memory_bytes() const {
    std::size_t sum = 0;
    for (const auto& p : places_) sum += p->objects.memory_bytes();
    return sum;
}

void informers::want(kind k) {
    for (const auto& w : places_[static_cast<std::size_t>(k)]->watchers) w->want();
}

void informers::synced(kind of) {
    // Rights are mostly given for all kinds together.
    for (const auto& p : places_)
        for (const auto& w : p->watchers) w->ask_rights_again();
    if (!all_synced(of)) return;  // other namespaces' are still to come
    to_.synced(of);
}

}  // namespace cotrain::watch
