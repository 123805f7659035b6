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
bool is_runtime(kind k) { return k == kind::training_runtime || k == kind::cluster_training_runtime; }

}  // namespace

runtime_bounds runtime_bounds::of_process(std::uint64_t memory_bytes) {
    constexpr std::uint64_t least = 4UL << 20U;
    constexpr std::uint64_t most = 256UL << 20U;
    const auto all = static_cast<std::size_t>(std::clamp(memory_bytes / 8, least, most));
    return {.of_namespaces = {all / 4, all}, .of_cluster = {all, all}};
}

informers::informers(const informer_tools& tools, const informers_options& options)
    : to_(tools.to),
      owner_(tools.owner),
      api_(tools.api),
      random_(tools.random),
      texts_(tools.texts),
      retry_(options.timing.retry),
      refill_pause_(options.refill_pause),
      by_namespace_(!options.namespaces.empty()) {
    const informer_tools inner{tools.owner, tools.api, tools.texts, *this, tools.random, tools.log};
    for (const kind k : all_kinds()) {
        auto& p = places_[static_cast<std::size_t>(k)];
        const bool wide = k == kind::cluster_training_runtime;
        if (is_runtime(k))
            p = std::make_unique<place>(tools.texts,
                                        wide ? options.runtimes.of_cluster : options.runtimes.of_namespaces);
        else
            p = std::make_unique<place>(tools.texts);
    }
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
    for (const kind k : {kind::training_runtime, kind::cluster_training_runtime})
        if (of(k) != nullptr) owner_.spawn("runtimes that were left out", refill(k));
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
