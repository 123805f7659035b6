// Wiring of kinds, stores and informers.
#include "watch/informers.hpp"

#include <utility>

#include "watch/finished.hpp"

namespace cotrain::watch {

kind_set every_kind() { return kind_set().set(); }

namespace {

bool is_file(kind k) { return k == kind::config_map || k == kind::secret; }
bool is_child(kind k) { return k == kind::job_set || is_file(k); }

}  // namespace

informers::informers(const informer_tools& tools, const informers_options& options) : to_(tools.to) {
    const informer_tools inner{tools.owner, tools.api, tools.texts, *this, tools.random, tools.log};
    for (auto& p : places_) p = std::make_unique<place>(tools.texts);
    for (const kind k : all_kinds()) {
        if (!options.watched.test(static_cast<std::size_t>(k))) continue;
        informer_options each{options.timing, info_of(k).of.namespaced ? options.ns : std::string()};
        each.timing.needed = each.timing.needed && info_of(k).required;
        const object_store* const jobs = is_child(k) ? &store(kind::train_job) : nullptr;
        places_[static_cast<std::size_t>(k)]->watcher = std::make_unique<informer>(k, own(k), inner, each, jobs);
    }
}

void informers::start() {
    const bool jobs_first = of(kind::train_job) != nullptr;
    for (const auto& p : places_)
        if (p->watcher && !(jobs_first && is_file(p->watcher->of()))) p->watcher->start();
}

// Files come after the jobs, so that those of finished ones take no room at all.
void informers::start_files() {
    if (std::exchange(files_started_, true)) return;
    for (const kind k : {kind::config_map, kind::secret})
        if (const auto& p = places_[static_cast<std::size_t>(k)]; p->watcher) p->watcher->start();
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
    if (what.of == kind::train_job) settle(*what.object);
    to_.changed(what);
}

void informers::want(kind k) {
    if (const auto& p = places_[static_cast<std::size_t>(k)]; p->watcher) p->watcher->want();
}

// JobSets may have come before the jobs that are done with them.
void informers::synced(kind of) {
    if (of == kind::train_job) {
        store(of).for_each([this](handle, const object_record& job) { settle(job); });
        start_files();
    }
    // Rights are mostly given for all kinds together.
    for (const auto& p : places_)
        if (p->watcher) p->watcher->ask_rights_again();
    to_.synced(of);
}

void informers::settle(const object_record& job) {
    shrink_finished(store(kind::train_job), job, {&own(kind::job_set), &own(kind::config_map), &own(kind::secret)});
}

}  // namespace cotrain::watch
