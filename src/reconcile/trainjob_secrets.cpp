// Secrets of a job: nobody tells of them, so that they are asked for by name where it matters whether they are there.
#include "api/json.hpp"
#include "reconcile/trainjob_attempt.hpp"
#include "runtime/guards.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;
using watch::kind;

constexpr int not_found = 404;

std::int64_t placed(const watch::object_body& of) {
    std::int64_t sum = 0;
    for (const watch::stored_counts& c : of.counts()) sum += std::int64_t{c.ready} + c.succeeded;
    return sum;
}

}  // namespace

bool loses_pods(const job_records& seen) {
    if (!seen.owns_set() || seen.body == nullptr || seen.set_body == nullptr) return false;
    if (seen.job->suspend || seen.job->terminal() || seen.set->terminal()) return false;
    return placed(*seen.set_body) < placed(*seen.body);
}

// What the snapshot says if it was read, else the live runtime: it tells well enough which Secrets there are.
trainjob_reconciler::compiled trainjob_reconciler::runtime_at_hand(const attempt& a) {
    const auto known = memories_.find(a.key);
    if (const compiled kept = known == memories_.end() ? nullptr : known->second.runtime.lock()) return kept;
    return runtimes_.live(a.job).value_or(nullptr);
}

// Asked by name, as metadata, and only where Pods that mount them are about to start, or where it is not known whether
// they are there. Of a new job nothing was made yet: whether somebody has a Secret of that name, making it tells.
awaitable<base::result<>> trainjob_reconciler::find_secrets(attempt* a, compiled runtime) {
    if (runtime == nullptr || a->knows_secrets) co_return base::result<>{};
    const std::string ns(a->job.meta.ns);
    const watch::uid job = memories_[a->key].job;
    const auto* const snapshot = all_.find(kind::config_map, ns, runtime::child_name(a->job, names::snapshot_suffix));
    const bool is_new = snapshot == nullptr || snapshot->owner != job;
    const bool starts = a->loses_pods || (!a->job.spec.suspend && (!a->set || a->set->suspend));
    for (const needed_child& need : needed_by(*runtime)) {
        if (need.type != &names::secret) continue;
        const std::string name = runtime::child_name(a->job, need.suffix);
        const auto* const known = all_.find(kind::secret, ns, name);
        if (known != nullptr && (known->owner == job || known->id == memories_[a->key].premade_secret) && !starts)
            continue;
        if (is_new) {
            all_.drop(kind::secret, ns, name);  // of a namesake that has gone
        } else if (auto asked = co_await ask_for_secret(a, name); !asked) {
            co_return asked;
        }
    }
    a->knows_secrets = true;
    co_return base::result<>{};
}

awaitable<base::result<>> trainjob_reconciler::ask_for_secret(attempt* a, std::string name) {
    const auto answer = co_await api_.get(a->at(names::secret, name));
    if (!answer && answer.error().http_status != not_found) co_return base::fail(answer.error());
    if (!answer) {
        all_.drop(kind::secret, a->job.meta.ns, name);
        a->lacks_secret = true;
        co_return base::result<>{};
    }
    all_.note(kind::secret, *answer);
    const auto* const found = all_.find(kind::secret, a->job.meta.ns, name);
    const auto memory = memories_.find(a->key);
    if (found == nullptr || memory == memories_.end() || found->owner == memory->second.job) co_return base::result<>{};
    if (found->owner.empty()) {
        const auto premade = co_await is_premade_secret(a, name);
        if (!premade) co_return base::fail(premade.error());
        if (*premade) co_return base::result<>{};
    }
    a->pause = foreign_secret_pause;
    co_return base::result<>{};
}

// A Secret that nobody controls, and that the job can use for ssh: what it holds is looked at, and not kept.
awaitable<base::result<bool>> trainjob_reconciler::is_premade_secret(attempt* a, std::string name) {
    if (!name.ends_with(names::ssh_auth_suffix)) co_return false;
    auto answer = co_await api_.get_whole(a->at(names::secret, name));
    if (!answer && answer.error().http_status != not_found) co_return base::fail(answer.error());
    const auto memory = memories_.find(a->key);
    if (memory == memories_.end()) co_return false;
    memory->second.premade_secret = {};
    const auto* const found = all_.find(kind::secret, a->job.meta.ns, name);
    api::arena parsed;
    const auto secret = answer ? api::parse_json(parsed, *answer) : base::result<api::ref>{};
    if (!answer || !secret || found == nullptr) co_return false;
    const std::string_view uid = secret->get({"metadata", "uid"}).as_string();
    if (watch::to_text(all_.texts(), found->id) != uid || !runtime::is_premade(names::secret, name, *secret))
        co_return false;
    memory->second.premade_secret = found->id;
    co_return true;
}

void trainjob_reconciler::forget_secrets(watch::text_id key) {
    const auto [ns, name] = split_key(all_.texts().view(key));
    for (const std::string_view suffix : {names::ssh_auth_suffix, names::flux_curve_suffix})
        all_.drop(kind::secret, ns, std::string(name).append(suffix));
}

}  // namespace cotrain::reconcile
