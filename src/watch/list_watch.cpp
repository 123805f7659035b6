// How listing and watching go on after each answer.
#include "watch/list_watch.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cotrain::watch {

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
    if (state_ == state::listing) return {ask::answer, moment::max()};
    if (state_ != state::resting) {
        if (now < silent_until_) return {ask::answer, silent_until_};
        const base::error e = base::make_error(base::errc::deadline, "nothing came when something had to");
        state_ == state::streaming ? stream_failed(restart_reason::stalled, e)
                                   : follow_failed(restart_reason::stalled, e);
        return {ask::abandon};
    }
    if (!rest_chosen_) {
        // Drawn even where it is not waited for, so that quick failures in a row do slow down.
        const auto delay = pace(now).next(random);
        rest_until_ = now + std::max(rest_short_ ? std::chrono::milliseconds(0) : delay, at_least_);
        rest_chosen_ = true;
    }
    if (now < rest_until_) return {ask::wait, rest_until_};
    asked_at_ = now;
    switch (plan_) {
        case plan::picture: return begin_picture(now);
        case plan::page: return list_page(false);
        case plan::resume: return follow(now, random);
    }
    return {ask::wait, rest_until_};
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
    if (state_ != state::resting || !rest_chosen_ || rest_until_ <= earlier) return false;
    rest_until_ = earlier;
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

list_watch::action list_watch::begin_picture(moment now) {
    token_.clear();
    version_.clear();
    resume_failures_ = 0;
    if (!streams_) return list_page(true);
    state_ = state::streaming;
    began_ = false;
    picture_until_ = now + options_.initial_max;
    silent_until_ = now + options_.initial_idle;
    action a{ask::watch};
    a.until = silent_until_;
    a.begins = true;
    a.initial_events = true;
    a.timeout = options_.watch_timeout;
    return a;
}

list_watch::action list_watch::list_page(bool begins) {
    state_ = state::listing;
    action a{ask::list};
    a.until = moment::max();
    a.begins = begins;
    a.continue_token = token_;
    a.limit = expired_pages_ >= expired_pages_max ? 0 : page_items_;
    return a;
}

list_watch::action list_watch::follow(moment now, base::random_source& random) {
    state_ = state::following;
    progress_ = false;
    action a{ask::watch};
    a.resource_version = version_;
    a.timeout = std::chrono::seconds(
        static_cast<std::int64_t>(static_cast<double>(options_.watch_timeout.count()) * (1.0 + random.unit())));
    silent_until_ = now + a.timeout + options_.close_grace;
    a.until = silent_until_;
    return a;
}

// --- answers -------------------------------------------------------------------------------------------------------

list_watch::verdict list_watch::completed(std::string version) {
    version_ = std::move(version);
    synced_ = true;
    missing_ = false;
    began_ = false;
    missing_pause_.reset();
    unneeded_.reset();
    stream_failures_ = expired_pages_ = 0;
    verdict v;
    v.complete = true;
    return v;
}

list_watch::verdict list_watch::page_done(const page_reader::trailer& page) {
    assert(state_ == state::listing);
    state_ = state::resting;
    missing_ = false;
    if (!page.continue_token.empty()) {
        token_ = page.continue_token;
        plan_ = plan::page;
        return {};
    }
    token_.clear();
    plan_ = plan::resume;
    return completed(page.resource_version);
}

void list_watch::progressed() {
    progress_ = true;
    resume_failures_ = failures_ = 0;
    retry_.reset();
    denied_.reset();
    costly_.reset();
}

list_watch::verdict list_watch::event(const event_view& event, moment now) {
    assert(state_ == state::streaming || state_ == state::following);
    verdict v;
    if (event.type == event_type::error) {
        const status_view said = decode_status(event.object);
        base::error e = base::make_error(base::errc::status, said.message);
        e.http_status = said.code;
        e.reason = said.reason;
        failed(e, now);
        v.close = true;
        return v;
    }
    const bool initial = state_ == state::streaming;
    began_ = began_ || initial;
    std::string scratch;
    std::string version(event.object.resource_version.value(scratch));
    if (initial) silent_until_ = std::min(now + options_.initial_idle, picture_until_);
    switch (event.type) {
        case event_type::added:
        case event_type::modified: v.object = verdict::change::upsert; break;
        case event_type::deleted: v.object = verdict::change::remove; break;
        case event_type::bookmark:
            if (!initial || !ends_initial_events(event.object) || version.empty()) break;
            // The same stream goes on from here; the server closes it at the timeout that was asked for.
            state_ = state::following;
            silent_until_ = now + options_.watch_timeout + options_.close_grace;
            v = completed(std::move(version));
            progressed();
            return v;
        default: return v;
    }
    // Initial events come in any order: only from their end on is a version a place in history.
    if (!initial && !version.empty()) {
        version_ = std::move(version);
        progressed();
    }
    return v;
}

void list_watch::ended(moment) {
    if (state_ == state::streaming) {
        stream_failed(restart_reason::ended, base::make_error(base::errc::lost, "the initial state ended early"));
        return;
    }
    assert(state_ == state::following);
    // A watch that ends as soon as it begins, and again, is no watch to hurry for.
    const bool at_once = progress_;
    restart(restart_reason::ended, plan::resume, {});
    rest_short_ = at_once;
}

void list_watch::failed(const base::error& why, moment) {
    const restart_reason reason = reason_of(why);
    missing_ = reason == restart_reason::missing;
    switch (state_) {
        case state::listing: return list_failed(reason, why);
        case state::streaming: return stream_failed(reason, why);
        case state::following: return follow_failed(reason, why);
        case state::resting: assert(false && "nothing was under way"); return;
    }
}

void list_watch::list_failed(restart_reason why, const base::error& e) {
    const bool later_page = !token_.empty();
    const bool retry_page = later_page && why != restart_reason::expired && why != restart_reason::missing &&
                            why != restart_reason::refused && why != restart_reason::garbled;
    if (later_page && !retry_page) ++expired_pages_;
    if (why == restart_reason::too_large) {
        page_items_ = std::max(1U, page_items_ / page_shrink);
        expired_pages_ = 0;  // one piece would be larger still
    }
    const bool first = failures_ == 0;
    restart(why, retry_page ? plan::page : plan::picture, e.message, wish_of(e));
    rest_short_ = first && why == restart_reason::expired;
}

void list_watch::stream_failed(restart_reason why, const base::error& e) {
    // 400 and 422 are how servers refuse sendInitialEvents; old ones ignore it, and the end of the initial events
    // never comes.
    const bool refuses = why == restart_reason::refused;
    const bool early = why == restart_reason::ended || why == restart_reason::stalled ||
                       why == restart_reason::garbled || why == restart_reason::too_large;
    if (early) ++stream_failures_;
    if (refuses || why == restart_reason::stalled || stream_failures_ >= stream_failures_max) {
        streams_ = false;
        restart(restart_reason::unsupported, plan::picture, e.message);
        rest_short_ = refuses;
        return;
    }
    restart(why, plan::picture, e.message, wish_of(e));
}

void list_watch::follow_failed(restart_reason why, const base::error& e) {
    const bool first = failures_ == 0;
    plan then = plan::resume;
    if (why == restart_reason::expired || why == restart_reason::missing || why == restart_reason::refused) {
        then = plan::picture;
    } else if (why == restart_reason::server_error || why == restart_reason::garbled ||
               why == restart_reason::too_large || why == restart_reason::stalled) {
        if (++resume_failures_ >= resume_failures_max) then = plan::picture;
    }
    restart(why, then, e.message, wish_of(e));
    rest_short_ = first && why == restart_reason::expired;
}

void list_watch::restart(restart_reason why, plan then, std::string message, std::chrono::milliseconds at_least) {
    ++restarts_[static_cast<unsigned>(why)];
    last_reason_ = why;
    last_error_ = std::move(message);
    state_ = state::resting;
    plan_ = then;
    rest_chosen_ = false;
    rest_short_ = false;
    ++failures_;
    costly_failure_ = why == restart_reason::garbled || why == restart_reason::too_large ||
                      why == restart_reason::stalled || why == restart_reason::refused ||
                      (then == plan::picture && began_);
    began_ = false;
    at_least_ = std::min<std::chrono::milliseconds>(at_least, options_.retry_after_max);
}

}  // namespace cotrain::watch
