// Wiring of kinds, stores and informers.
#include "watch/informers.hpp"

#include <algorithm>
#include <utility>

#include "watch/finished.hpp"

namespace cotrain::watch {

kind_set watched_kinds() {
    kind_set out;
    for (const kind k : all_kinds()) out.set(static_cast<std::size_t>(k), info_of(k).watched);
    return out;
}

namespace {

bool is_file(kind k) { return k == kind::config_map || k == kind::secret; }
bool is_child(kind k) { return k == kind::job_set || is_file(k); }

}  // namespace

informers::informers(const informer_tools& tools, const informers_options& options)
    : to_(tools.to), by_namespace_(!options.namespaces.empty()) {
    const informer_tools inner{tools.owner, tools.api, tools.texts, *this, tools.random, tools.log};
    for (auto& p : places_) p = std::make_unique<place>(tools.texts);
    for (const kind k : all_kinds()) {
        if (!options.watched.test(static_cast<std::size_t>(k))) continue;
        list_watch_options timing = options.timing;
        timing.needed = timing.needed && required(k);
        const object_store* const jobs = is_child(k) ? &store(kind::train_job) : nullptr;
        const auto add = [&](std::string ns) {
            places_[static_cast<std::size_t>(k)]->watchers.push_back(
                std::make_unique<informer>(k, own(k), inner, informer_options{timing, std::move(ns)}, jobs));
        };
        if (by_namespace_ && info_of(k).of.namespaced)
            for (const std::string& ns : options.namespaces) add(ns);
        else
            add({});
    }
}

void informers::start() {
    const bool jobs_first = of(kind::train_job) != nullptr;
    for (const auto& p : places_)
        for (const auto& w : p->watchers)
            if (!jobs_first || !is_file(w->of())) w->start();
}

// Files come after the jobs, so that those of finished ones take no room at all.
void informers::start_files() {
    if (std::exchange(files_started_, true)) return;
    for (const kind k : {kind::config_map, kind::secret})
        for (const auto& w : all_of(k)) w->start();
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

void informers::changed(const object_change& what) {
    if (what.of == kind::train_job) settle(*what.object);
    to_.changed(what);
}

void informers::want(kind k) {
    for (const auto& w : places_[static_cast<std::size_t>(k)]->watchers) w->want();
}

// JobSets may have come before the jobs that are done with them.
void informers::synced(kind of) {
    // Rights are mostly given for all kinds together.
    for (const auto& p : places_)
        for (const auto& w : p->watchers) w->ask_rights_again();
    if (!all_synced(of)) return;  // other namespaces' are still to come
    if (of == kind::train_job) {
        store(of).for_each([this](handle, const object_record& job) { settle(job); });
        start_files();
    }
    to_.synced(of);
}

void informers::settle(const object_record& job) {
    shrink_finished(store(kind::train_job), job, {&own(kind::job_set), &own(kind::config_map), &own(kind::secret)});
}

}  // namespace cotrain::watch
