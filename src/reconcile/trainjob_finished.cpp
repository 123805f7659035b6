// Jobs that have ended: what is left to do for them, from the few words that are kept of them.
#include <algorithm>

#include "api/json.hpp"
#include "reconcile/trainjob_attempt.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;
using watch::kind;

constexpr std::chrono::seconds written_to_pause{1};

// Failed while the JobSet runs on: nothing that we write, see runtime::next_status().
bool runs_on(const job_records& seen) {
    return seen.job->failed && !seen.job->past_deadline && seen.owns_set() && !seen.set->terminal() &&
           !seen.set->deleting;
}

}  // namespace

awaitable<outcome> trainjob_reconciler::tidy_up(watch::text_id key) {
    const job_records seen = find_records(all_, key);
    const auto known = memories_.find(key);
    const bool went_on = known != memories_.end() && known->second.job == seen.job->id && known->second.goes_on;
    const bool by_others = went_on && runs_on(seen);
    if (!by_others && known != memories_.end()) memories_.erase(known);
    const bool closer = look_closer_.contains(key) || seen.job->troubled || by_others;
    base::result<> done;
    if (closer) {
        done = co_await judge_again(key, by_others);
        if (done) look_closer_.erase(key);
    } else {
        done = co_await pass_on_counts(key);
    }
    if (done) memories_.erase(key);
    if (done) done = co_await end_children(key);
    if (!done) {
        if (done.error().code == base::errc::canceled) co_return outcome::done();
        // Others were faster. It has ended, so that there is time.
        if (done.error().http_status == 409 && co_await refresh(key)) co_return outcome::failed();
        const auto [ns, name] = split_key(all_.texts().view(key));
        log_.warn("cannot clean up after a finished TrainJob",
                  {{"controller", "trainjob"}, {"namespace", ns}, {"name", name}, {"error", done.error().message}});
        co_return outcome::failed_by(done.error());
    }
    const job_records now = find_records(all_, key);
    // It turned out not to have ended.
    if (now.job != nullptr && !now.job->terminal()) co_return outcome::again_after({});
    const auto wait = groups_stay_for(key);
    co_return wait ? outcome::again_after(*wait) : outcome::done();
}

// With the whole object, as the API server has it.
awaitable<base::result<>> trainjob_reconciler::judge_again(watch::text_id key, bool ended_by_others) {
    attempt a;
    a.key = key;
    a.ended_by_others = ended_by_others;
    const auto [ns, name] = split_key(all_.texts().view(key));
    const auto answer = co_await api_.get({&names::train_job, std::string(ns), std::string(name)});
    if (!answer) {
        if (answer.error().http_status == 404) co_return base::result<>{};
        co_return base::fail(answer.error());
    }
    const auto document = api::parse_json(a.memory, *answer);
    if (!document) co_return base::fail(document.error());
    auto job = api::decode_train_job(*document);
    if (!job) co_return base::result<>{};  // nothing can be said of it
    a.job = std::move(*job);
    if (runtime::managed_elsewhere(a.job)) co_return base::result<>{};
    a.version = all_.note(kind::train_job, *answer);
    const job_records seen = find_records(all_, key);
    if (seen.job == nullptr || !seen.job->terminal()) co_return base::result<>{};
    if (seen.set != nullptr) a.set = stored_job_set(a.memory, all_, seen, a.job.status);
    co_return co_await write_status(&a);
}

// Pods may end after their job has.
awaitable<base::result<>> trainjob_reconciler::pass_on_counts(watch::text_id key) {
    const job_records seen = find_records(all_, key);
    if (seen.job == nullptr || !seen.owns_set()) co_return base::result<>{};
    const auto& sets = all_.store(kind::job_set);
    if (all_.store(kind::train_job).counts_print(*seen.job) == sets.counts_print(*seen.set)) {
        all_.settle(key);
        co_return base::result<>{};
    }
    if (seen.set_body == nullptr) co_return base::result<>{};
    attempt a;
    a.key = key;
    a.job = bare_job(a.memory, all_, seen);
    const api::job_set set = stored_job_set(a.memory, all_, seen, {});
    api::train_job_status after;
    for (const auto& j : set.jobs) {
        after.jobs.push_back({std::string(j.name), j.ready, j.succeeded, j.failed, j.active, j.suspended});
    }
    // Conditions are in neither, so the patch leaves them alone.
    const api::ref patch = api::status_patch(a.memory, {}, after);
    const api::ref none = *api::parse_json(a.memory, R"({"status":{"jobsStatus":[]}})");
    std::string body = body_for(a.memory, patch ? patch : none, seen.job->version);
    const auto answer = co_await api_.merge_patch(a.at(names::train_job, a.job.meta.name), "status", std::move(body));
    if (!answer) {
        if (answer.error().http_status == 404) co_return base::result<>{};
        co_return base::fail(answer.error());
    }
    all_.note(kind::train_job, *answer);
    co_return base::result<>{};
}

// After a deadline the JobSet has to go, and with every end the PodGroups, which would hold a place in the queue.
std::vector<std::pair<target, std::string>> trainjob_reconciler::to_be_ended(watch::text_id key) const {
    std::vector<std::pair<target, std::string>> out;
    const job_records seen = find_records(all_, key);
    if (seen.job == nullptr || !seen.job->terminal()) return out;
    const auto [ns, name] = split_key(all_.texts().view(key));
    const auto add = [&](const api::resource_type& type, const watch::object_record& r) {
        if (r.owner != seen.job->id || r.deleting) return;
        out.emplace_back(target{&type, std::string(ns), std::string(split_key(all_.texts().view(r.key)).name)},
                         watch::to_text(all_.texts(), r.id));
    };
    if (seen.job->past_deadline && seen.set != nullptr) add(names::job_set, *seen.set);
    for (const auto* type : {&names::coscheduling_pod_group, &names::volcano_pod_group}) {
        all_.store(kind_of(*type)).for_each_of(key, [&](watch::handle, const watch::object_record& r) {
            add(*type, r);
        });
    }
    return out;
}

awaitable<base::result<>> trainjob_reconciler::end_children(watch::text_id key) {
    base::result<> all;
    for (auto& [at, uid] : to_be_ended(key)) {
        if (at.type != &names::job_set && group_rights_.rest_of_pause(at.ns, with_.steady())) continue;
        auto done = co_await api_.remove(at, uid);
        if (done) continue;
        if (at.type != &names::job_set && missing_rights::told_by(done.error())) {
            if (group_rights_.note(at.ns, with_.steady())) {
                log_.warn("cannot delete PodGroups of finished TrainJobs: forbidden",
                          {{"error", done.error().message}});
            }
            continue;
        }
        all = std::move(done);
    }
    co_return all;
}

// PodGroups that have to go, and may not yet: how long until that is tried again.
std::optional<std::chrono::nanoseconds> trainjob_reconciler::groups_stay_for(watch::text_id key) const {
    const auto pause = group_rights_.rest_of_pause(split_key(all_.texts().view(key)).ns, with_.steady());
    if (!pause) return std::nullopt;
    const auto is_group = [](const auto& each) { return each.first.type != &names::job_set; };
    return std::ranges::any_of(to_be_ended(key), is_group) ? std::optional<std::chrono::nanoseconds>(*pause)
                                                           : std::nullopt;
}

// How much longer the job is kept; nothing: for good, or as long as it has not ended.
std::optional<std::chrono::nanoseconds> trainjob_reconciler::time_left(watch::text_id key) const {
    const job_records seen = find_records(all_, key);
    if (seen.job == nullptr || seen.body == nullptr || seen.job->deleting) return std::nullopt;
    if (!seen.job->terminal() || seen.body->ttl_seconds < 0) return std::nullopt;
    if (seen.job->finished == 0) return std::nullopt;  // when it ended could not be read
    const api::micros_time end{std::chrono::seconds{seen.job->finished + seen.body->ttl_seconds}};
    return std::max<std::chrono::nanoseconds>(end - with_.wall(), {});
}

// A job that says how long it is kept stays whole in the store. The API server is asked before it goes: somebody may
// have given it more time.
awaitable<base::result<>> trainjob_reconciler::end_keeping(attempt* a) {
    if (!with_.end_of_keeping) co_return base::result<>{};
    constexpr std::chrono::nanoseconds none{0};
    a->kept_for = time_left(a->key);
    if (a->kept_for != none) co_return base::result<>{};
    a->kept_for = job_rights_.rest_of_pause(a->job.meta.ns, with_.steady());
    if (a->kept_for) co_return base::result<>{};
    const target at = a->at(names::train_job, a->job.meta.name);
    const auto answer = co_await api_.get(at);
    if (!answer) {
        if (answer.error().http_status == 404) co_return base::result<>{};
        co_return base::fail(answer.error());
    }
    const std::uint64_t version = all_.note(kind::train_job, *answer);
    if (const auto now = time_left(a->key); now != none) {
        a->kept_for = now.value_or(none);  // what was noted wakes nobody
        co_return base::result<>{};
    }
    auto done = co_await api_.remove(at, std::string(a->job.meta.uid), version);
    constexpr int conflict = 409;
    if (!done && done.error().http_status == conflict) {  // somebody has just written to it
        a->kept_for = written_to_pause;
        co_return base::result<>{};
    }
    if (done || !missing_rights::told_by(done.error())) co_return done;
    a->kept_for = missing_rights::pause;
    if (job_rights_.note(at.ns, with_.steady())) {
        log_.warn(
            "cannot delete TrainJobs after ttlSecondsAfterFinished: forbidden",
            {{"error", done.error().message}, {"cure", "allow it to delete trainjobs, or switch TrainJobTTL off"}});
    }
    co_return base::result<>{};
}

// A child that stays does not keep its job.
awaitable<base::result<>> trainjob_reconciler::follow_up(attempt* a) {
    auto children = co_await end_children(a->key);
    auto job = co_await end_keeping(a);
    co_return children ? std::move(job) : std::move(children);
}

}  // namespace cotrain::reconcile
