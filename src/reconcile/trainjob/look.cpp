#include "reconcile/trainjob/look.hpp"

#include "api/names.hpp"

namespace cotrain::reconcile {

namespace {

const watch::stored_condition* suspension(const job_view& v) {
    for (const watch::stored_condition& c : v.body->conditions())
        if (v.all->texts().view(c.type) == api::names::suspended) return &c;
    return nullptr;
}

}  // namespace

void look_notes::note(runtime::diagnosis d, moment now) {
    // A shorter word for the same is no news: of a pull that failed, kubelet says why in turns only.
    const bool same = d.reason == found.reason && found.message.starts_with(d.message);
    pause = same && next ? std::min(pause * 2, look_pause_max) : look_pause;
    if (!same) found = std::move(d);
    next = now + pause;
    turn.reset();
}

bool pods_are_there(const job_view& v) {
    if (v.set_body == nullptr || v.set_body->counts().empty()) return false;
    return std::ranges::all_of(v.set_body->counts(), [](const watch::stored_counts& c) {
        return c.ready + c.succeeded >= (c.replicas > 0 ? c.replicas : std::max(1, c.active));
    });
}

std::optional<std::int32_t> failed_attempt(const job_view& v, bool tells_restarts) {
    constexpr std::uint32_t absent = watch::stored_told::absent;
    if (!v.owns_set() || v.set_body == nullptr || v.job->terminal()) return std::nullopt;
    const std::uint32_t now = v.set_body->told.restarts == absent ? 0 : v.set_body->told.restarts;
    if (v.set->failed) return static_cast<std::int32_t>(now);
    const std::uint32_t told = v.body->told.restarts;
    if (!tells_restarts || told == absent || now <= told) return std::nullopt;
    return static_cast<std::int32_t>(now) - 1;
}

bool is_queued(const job_view& v) {
    return v.job->suspend && !v.job->deleting && !v.job->terminal() && v.body->queue != watch::no_text;
}

base::seconds_time pods_wanted_since(const job_view& v) {
    std::uint32_t since = v.set != nullptr ? v.set->created : v.job->created;
    if (const watch::stored_condition* const c = suspension(v)) since = std::max(since, c->last_transition);
    return base::seconds_time{std::chrono::seconds{since}};
}

bool pods_are_wanted(const job_view& v) {
    if (v.job->suspend || v.job->deleting || v.job->terminal() || !v.owns_set()) return false;
    const watch::stored_condition* const c = suspension(v);
    if (c != nullptr && c->status == watch::truth::yes) return false;  // its status does not say yet that it is resumed
    return !v.set->suspend && !v.set->deleting && !v.set->terminal();
}

std::optional<std::chrono::nanoseconds> look_wait(const job_view& v, const look_notes* known, base::micros_time wall,
                                                  moment steady) {
    if (!is_queued(v) && (!pods_are_wanted(v) || pods_are_there(v))) return std::nullopt;
    std::chrono::nanoseconds wait = pods_wanted_since(v) + look_after - wall;
    if (known != nullptr && known->next) wait = std::max<std::chrono::nanoseconds>(wait, *known->next - steady);
    if (known != nullptr && known->turn) wait = std::max<std::chrono::nanoseconds>(wait, known->turn->ask - steady);
    return std::max<std::chrono::nanoseconds>(wait, {});
}

}  // namespace cotrain::reconcile
