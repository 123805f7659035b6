// Wiring of kinds, stores and informers.
#include "watch/informers.hpp"

namespace cotrain::watch {

kind_set every_kind() { return kind_set().set(); }

informers::informers(const informer_tools& tools, const informers_options& options) : to_(tools.to) {
    const informer_tools inner{tools.owner, tools.api, tools.texts, *this, tools.random, tools.log};
    for (auto& p : places_) p = std::make_unique<place>(tools.texts);
    for (const kind k : all_kinds()) {
        if (!options.watched.test(static_cast<std::size_t>(k))) continue;
        informer_options each{options.timing, info_of(k).of.namespaced ? options.ns : std::string()};
        const object_store* const jobs = k == kind::job_set ? &store(kind::train_job) : nullptr;
        places_[static_cast<std::size_t>(k)]->watcher = std::make_unique<informer>(k, own(k), inner, each, jobs);
    }
}

void informers::start() {
    for (const auto& p : places_)
        if (p->watcher) p->watcher->start();
}

awaitable<bool> informers::ready() {
    for (const auto& p : places_) {
        if (!p->watcher) continue;
        const bool there = info_of(p->watcher->of()).required ? co_await p->watcher->synced()  //
                                                              : co_await p->watcher->settled();
        if (!there) co_return false;
    }
    co_return true;
}

bool informers::is_ready() const {
    for (const auto& p : places_) {
        if (!p->watcher) continue;
        if (info_of(p->watcher->of()).required && !p->watcher->in_sync()) return false;
        if (p->watcher->now() == informer::state::starting) return false;
    }
    return true;
}

std::vector<kind> informers::missing() const {
    std::vector<kind> all;
    for (const auto& p : places_)
        if (p->watcher && info_of(p->watcher->of()).required && p->watcher->missing()) all.push_back(p->watcher->of());
    return all;
}

std::size_t informers::memory_bytes() const {
    std::size_t sum = 0;
    for (const auto& p : places_) sum += p->objects.memory_bytes();
    return sum;
}

void informers::changed(const object_change& what) {
    if (what.of == kind::train_job && what.object->terminal()) settle(*what.object);
    to_.changed(what);
}

// JobSets may have come before the jobs that are done with them.
void informers::synced(kind of) {
    if (of == kind::train_job)
        store(of).for_each([this](handle, const object_record& job) {
            if (job.terminal()) settle(job);
        });
    to_.synced(of);
}

// Nothing more is wanted of the JobSet of a finished job that has its last counts: its record is enough.
void informers::settle(const object_record& job) {
    object_store& sets = own(kind::job_set);
    const auto at = sets.find(job.key);
    const object_record* const set = at ? sets.get(*at) : nullptr;
    if (set == nullptr || set->collapsed || set->owner != job.id) return;
    if (sets.counts_print(*set) == store(kind::train_job).counts_print(job)) sets.collapse(*at);
}

}  // namespace cotrain::watch
