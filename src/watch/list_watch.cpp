// How listing and watching go on after each answer.
#include "watch/list_watch.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cotrain::watch {

using namespace watcher;

namespace {

// A server that ends the initial state early so often in a row is asked for lists instead.
constexpr unsigned stream_failures_max = 3;
// A list whose later pages expire so often in a row is asked for in one piece.
constexpr unsigned expired_pages_max = 2;
// A page above the bound of answers is asked for again with its items divided by this.
constexpr std::uint32_t page_shrink = 8;
// A place in history that the server fails to resume from so often in a row is given up.
constexpr unsigned resume_failures_max = 4;
// A server that starts or stops (503) guesses how long that takes.
constexpr std::chrono::milliseconds starting_wait_max{2'000};

std::chrono::milliseconds wish_of(const base::error& e) {
    const auto wish = e.retry_after.value_or(std::chrono::milliseconds(0));
    return e.http_status == 503 ? std::min(wish, starting_wait_max) : wish;
}

}  // namespace

std::string_view to_string(restart_reason r) {
    switch (r) {
        case restart_reason::ended: return "ended";
        case restart_reason::expired: return "expired";
        case restart_reason::connection: return "connection";
        case restart_reason::server_error: return "server_error";
        case restart_reason::throttled: return "throttled";
        case restart_reason::garbled: return "garbled";
        case restart_reason::too_large: return "too_large";
        case restart_reason::stalled: return "stalled";
        case restart_reason::unauthorized: return "unauthorized";
        case restart_reason::missing: return "missing";
        case restart_reason::unsupported: return "unsupported";
        case restart_reason::refused: return "refused";
    }
    return "refused";
}

restart_reason reason_of(const base::error& e) {
    using base::errc;
    if (e.code != errc::status) {
        switch (e.code) {
            case errc::internal:  // what came was not taken in
            case errc::decode: return restart_reason::garbled;
            case errc::too_large: return restart_reason::too_large;
            case errc::deadline: return restart_reason::stalled;
            case errc::auth: return restart_reason::unauthorized;
            default: return restart_reason::connection;
        }
    }
    if (e.http_status == 410 || e.reason == "Expired" || e.reason == "Gone") return restart_reason::expired;
    if (e.http_status == 429) return restart_reason::throttled;
    if (e.http_status == 401 || e.http_status == 403) return restart_reason::unauthorized;
    if (e.http_status == 404) return restart_reason::missing;
    if (e.http_status >= 500) return restart_reason::server_error;
    return restart_reason::refused;
}

// --- requests ------------------------------------------------------------------------------------------------------

list_watch::action list_watch::next(moment now, base::random_source& random) {
    if (std::holds_alternative<init_page>(state_)) return {ask::answer, moment::max()};
    if (const auto* const open = std::get_if<initial_watch>(&state_))
        return now < open->silent_until ? action{ask::answer, open->silent_until} : stalled();
    if (const auto* const open = std::get_if<watching>(&state_))
        return now < open->silent_until ? action{ask::answer, open->silent_until} : stalled();
    auto& rest = std::get<idle>(state_);
    if (!rest.until) {
        // Drawn even where it is not waited for, so that quick failures in a row do slow down.
        const auto delay = pace(now).next(random);
        rest.until = now + std::max(rest.at_once ? std::chrono::milliseconds(0) : delay, rest.at_least);
    }
    if (now < *rest.until) return {ask::wait, *rest.until};
    asked_at_ = now;
    plan then = std::move(rest.then);
    if (std::holds_alternative<relist>(then)) return begin_relist(now);
    if (auto* const page = std::get_if<next_page>(&then)) return list_page(std::move(page->token));
    return watch_on(now, random);
}

list_watch::action list_watch::stalled() {
    const base::error e = base::make_error(base::errc::deadline, "nothing came when something had to");
    std::visit([&](const auto state) { failed_in(state, restart_reason::stalled, e); }, state_);
    return {ask::abandon};
}

base::backoff& list_watch::pace(moment now) {
    const bool needed = options_.needed || now < wanted_until_;
    const bool denied = last_reason_ == restart_reason::unauthorized;
    if (!needed && (missing_ || (denied && !synced_))) return unneeded_;
    if (missing_) return missing_pause_;
    if (denied) return denied_;
    return costly_failure_ ? costly_ : retry_;
}

bool list_watch::rest_until(moment earlier) {
    auto* const rest = std::get_if<idle>(&state_);
    if (rest == nullptr || !rest->until || *rest->until <= earlier) return false;
    rest->until = earlier;
    return true;
}

bool list_watch::want(moment now) {
    if (options_.needed) return false;
    wanted_until_ = now + options_.wanted;
    const bool denied = last_reason_ == restart_reason::unauthorized;
    return (missing_ || denied) && rest_until(std::max(now, asked_at_ + options_.missing.ceiling));
}

bool list_watch::ask_rights_again(moment now) {
    return last_reason_ == restart_reason::unauthorized && rest_until(std::max(now, asked_at_ + options_.denied.first));
}

list_watch::action list_watch::begin_relist(moment now) {
    version_.clear();
    resume_failures_ = 0;
    if (!streams_) return list_page({});
    state_ = initial_watch{.silent_until = now + options_.initial_idle, .done_until = now + options_.initial_max};
    action a{ask::watch};
    a.until = now + options_.initial_idle;
    a.init = true;
    a.timeout = options_.watch_timeout;
    return a;
}

list_watch::action list_watch::list_page(std::string token) {
    action a{ask::list};
    a.until = moment::max();
    a.init = token.empty();
    a.continue_token = token;
    a.limit = expired_pages_ >= expired_pages_max ? 0 : page_items_;
    state_ = init_page{std::move(token)};
    return a;
}

list_watch::action list_watch::watch_on(moment now, base::random_source& random) {
    action a{ask::watch};
    a.resource_version = version_;
    a.timeout = std::chrono::seconds(
        static_cast<std::int64_t>(static_cast<double>(options_.watch_timeout.count()) * (1.0 + random.unit())));
    a.until = now + a.timeout + options_.close_grace;
    state_ = watching{.silent_until = a.until};
    return a;
}

// --- answers -------------------------------------------------------------------------------------------------------

void list_watch::done(std::string version) {
    version_ = std::move(version);
    synced_ = true;
    missing_ = false;
    missing_pause_.reset();
    unneeded_.reset();
    stream_failures_ = expired_pages_ = 0;
}

watcher_event list_watch::page_done(const page_trailer& page) {
    assert(std::holds_alternative<init_page>(state_));
    missing_ = false;
    if (!page.continue_token.empty()) {
        state_ = idle{.then = next_page{page.continue_token}, .until = moment::min()};
        return watcher_event::none;
    }
    state_ = idle{.then = resume{}, .until = moment::min()};
    done(page.resource_version);
    return watcher_event::init_done;
}

void list_watch::progressed() {
    resume_failures_ = failures_ = 0;
    retry_.reset();
    denied_.reset();
    costly_.reset();
}

list_watch::outcome list_watch::event(const event_view& event, moment now) {
    if (event.type == event_type::error) {
        const status_view said = decode_status(event.object);
        base::error e = base::make_error(base::errc::status, said.message);
        e.http_status = said.code;
        e.reason = said.reason;
        failed(e, now);
        return {.close = true};
    }
    auto* const initial = std::get_if<initial_watch>(&state_);
    assert(initial != nullptr || std::holds_alternative<watching>(state_));
    if (initial != nullptr) {
        initial->began = true;
        initial->silent_until = std::min(now + options_.initial_idle, initial->done_until);
    }
    std::string scratch;
    std::string version(event.object.resource_version.value(scratch));
    watcher_event what = watcher_event::none;
    switch (event.type) {
        case event_type::added:
        case event_type::modified: what = initial != nullptr ? watcher_event::init_apply : watcher_event::apply; break;
        case event_type::deleted: what = watcher_event::remove; break;
        case event_type::bookmark: break;
        default: return {};
    }
    // Initial events come in any order: only from their end on is a version a place in history.
    if (initial == nullptr) {
        if (!version.empty()) {
            version_ = std::move(version);
            std::get<watching>(state_).progress = true;
            progressed();
        }
        return {what};
    }
    const bool ends = event.type == event_type::bookmark && event.object.annotations.initial_events_end.is("true");
    if (!ends || version.empty()) return {what};
    // The same stream goes on from here; the server closes it at the timeout that was asked for.
    state_ = watching{.silent_until = now + options_.watch_timeout + options_.close_grace, .progress = true};
    done(std::move(version));
    progressed();
    return {watcher_event::init_done};
}

void list_watch::ended(moment) {
    if (const auto* const initial = std::get_if<initial_watch>(&state_))
        return failed_in(initial_watch(*initial), restart_reason::ended,
                         base::make_error(base::errc::lost, "the initial state ended early"));
    // A watch that ends as soon as it begins, and again, is no watch to hurry for.
    restart(restart_reason::ended, resume{}, nullptr, std::get<watching>(state_).progress);
}

void list_watch::failed(const base::error& why, moment) {
    const restart_reason reason = reason_of(why);
    missing_ = reason == restart_reason::missing;
    std::visit([&](const auto state) { failed_in(state, reason, why); }, state_);
}

void list_watch::failed_in(const idle&, restart_reason, const base::error&) {
    assert(false && "nothing was under way");
}

void list_watch::failed_in(const init_page& state, restart_reason why, const base::error& e) {
    const bool later_page = !state.token.empty();
    const bool retry_page = later_page && why != restart_reason::expired && why != restart_reason::missing &&
                            why != restart_reason::refused && why != restart_reason::garbled;
    if (later_page && !retry_page) ++expired_pages_;
    if (why == restart_reason::too_large) {
        page_items_ = std::max(1U, page_items_ / page_shrink);
        expired_pages_ = 0;  // one piece would be larger still
    }
    const bool at_once = failures_ == 0 && why == restart_reason::expired;
    restart(why, retry_page ? plan(next_page{state.token}) : plan(relist{}), &e, at_once);
}

void list_watch::failed_in(const initial_watch& state, restart_reason why, const base::error& e) {
    // 400 and 422 are how servers refuse sendInitialEvents; old ones ignore it, and the end of the initial events
    // never comes.
    const bool refuses = why == restart_reason::refused;
    const bool ours = e.code == base::errc::internal;
    const bool early = !ours && (why == restart_reason::ended || why == restart_reason::stalled ||
                                 why == restart_reason::garbled || why == restart_reason::too_large);
    if (early) ++stream_failures_;
    if (refuses || why == restart_reason::stalled || stream_failures_ >= stream_failures_max) {
        streams_ = false;
        why = restart_reason::unsupported;
    }
    restart(why, relist{}, &e, refuses);
    costly_failure_ = costly_failure_ || state.began;
}

void list_watch::failed_in(const watching&, restart_reason why, const base::error& e) {
    bool from_anew = why == restart_reason::expired || why == restart_reason::missing || why == restart_reason::refused;
    if (why == restart_reason::server_error || why == restart_reason::garbled || why == restart_reason::too_large ||
        why == restart_reason::stalled)
        from_anew = ++resume_failures_ >= resume_failures_max || e.code == base::errc::internal;
    const bool at_once = failures_ == 0 && why == restart_reason::expired;
    restart(why, from_anew ? plan(relist{}) : plan(resume{}), &e, at_once);
}

void list_watch::restart(restart_reason why, plan then, const base::error* e, bool at_once) {
    ++restarts_[static_cast<unsigned>(why)];
    last_reason_ = why;
    last_error_ = e == nullptr ? std::string() : e->message;
    ++failures_;
    costly_failure_ = why == restart_reason::garbled || why == restart_reason::too_large ||
                      why == restart_reason::stalled || why == restart_reason::refused;
    const auto wish = e == nullptr || why == restart_reason::unsupported ? std::chrono::milliseconds(0) : wish_of(*e);
    state_ = idle{.then = std::move(then),
                  .at_once = at_once,
                  .at_least = std::min<std::chrono::milliseconds>(wish, options_.retry_after_max)};
}

}  // namespace cotrain::watch
